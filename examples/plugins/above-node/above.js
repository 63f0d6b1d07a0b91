#!/usr/bin/node --preserve-symlinks-main
// A whole mechanism plugin in one file of plain JavaScript, with nothing but what Node has: it counts the values of a column
// that are at least as large as a public number. It is written against specs/plugin-v1.md alone, to show that the page
// says enough. Numbers in brackets are its sections.
"use strict";
const http2 = require("node:http2"), net = require("node:net"), path = require("node:path");
require("node:v8").setFlagsFromString("--expose-gc");
const collect = require("node:vm").runInNewContext("gc");

// --- Protocol buffers: numbers are varints or 8 bytes, everything else has a length.
const varint = (n) => { const out = []; for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128); return Buffer.from([...out, Number(n)]); };
const tag = (field, type) => varint(field * 8 + type);
const int = (field, n) => Buffer.concat([tag(field, 0), varint(n)]);
const double = (field, x) => { const b = Buffer.alloc(8); b.writeDoubleLE(x); return Buffer.concat([tag(field, 1), b]); };
const bytes = (field, b) => { b = Buffer.isBuffer(b) ? b : Buffer.from(b); return Buffer.concat([tag(field, 2), varint(b.length), b]); };
const message = (...fields) => Buffer.concat(fields);

// decode returns the last value of each field and, as all[field], every one of them. Fields that nobody asks for are left alone (4).
function decode(b) {
  const out = { all: {} };
  let at = 0;
  const next = () => { let n = 0n; for (let s = 0n; ; s += 7n) { const c = b[at++]; n |= BigInt(c & 127) << s; if (c < 128) return n; } };
  while (at < b.length) {
    const key = Number(next()), field = key >> 3, type = key & 7;
    let value;
    if (type === 0) value = next();
    else if (type === 1) { value = b.subarray(at, at + 8); at += 8; }
    else if (type === 2) { const n = Number(next()); value = b.subarray(at, at + n); at += n; }
    else if (type === 5) { value = b.subarray(at, at + 4); at += 4; }
    else throw new Error("not a message");
    out[field] = value;
    (out.all[field] ??= []).push(value);
  }
  return out;
}
const text = (b) => (b ? b.toString() : ""), real = (b) => (b ? b.readDoubleLE() : 0), whole = (n) => Number(n ?? 0n);

// --- gRPC: a message has a byte 0 and its length in front; the status comes in the trailers.
const frame = (b) => { const head = Buffer.alloc(5); head.writeUInt32BE(b.length, 1); return Buffer.concat([head, b]); };

async function* frames(stream) {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield rest.subarray(5, end);
      rest = rest.subarray(end);
    }
  }
}

const OK = 0, NOT_FOUND = 5, ABORTED = 10, UNIMPLEMENTED = 12;
class Status extends Error { constructor(code) { super(); this.code = code; } }

async function answer(stream, headers) {
  const method = methods[headers[":path"]];
  let code = method ? OK : UNIMPLEMENTED;
  stream.on("error", () => {});
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(code) }));
  stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
  try {
    if (method) for await (const out of method(frames(stream))) stream.write(frame(out));
  } catch (e) {
    code = e instanceof Status ? e.code : ABORTED; // and no text: it may depend on a row (6)
  }
  stream.end();
}

// --- What a plugin serves (3). first is the one message of a request that has one.
const first = async (requests) => decode((await requests.next()).value);
const noise = new Map(), waiting = new Map(); // broker ids and addresses

const methods = {
  "/grpc.health.v1.Health/Check": async function* () { yield int(1, 1); }, // SERVING
  "/plugin.GRPCController/Shutdown": async function* () { setTimeout(() => process.exit(0), 20); yield Buffer.alloc(0); },
  "/plugin.GRPCBroker/StartStream": async function* (announcements) {
    for await (const m of announcements) {
      const a = decode(m), id = whole(a[1]);
      noise.set(id, text(a[3]));
      waiting.get(id)?.();
    }
  },
  "/dprelease.plugin.v1.Mechanism/Describe": async function* () { yield message(bytes(1, describe()), bytes(2, Buffer.from([1]))); }, // LANE_SOCKET
  "/dprelease.plugin.v1.Mechanism/Plan": async function* (requests) {
    const r = await first(requests);
    if (text(r[1]) !== "above") throw new Status(NOT_FOUND);
    const l = layout(r);
    yield l.refusal ? bytes(2, l.refusal) : bytes(1, plan(l));
  },
  "/dprelease.plugin.v1.Mechanism/Release": async function* (requests) {
    const start = await first(requests), l = layout(start);
    const count = await countRows(text(start[7]), l);
    const [noisy] = await addLaplace(whole(start[8]), l.event, [count]);
    const value = Buffer.alloc(8);
    value.writeBigInt64LE(noisy);
    yield bytes(1, message(bytes(1, "count"), bytes(3, value))); // one column, packed sfixed64
    if (++releases % 32 === 0) setTimeout(collect, 1); // what a process holds must not grow with what it did
  },
};
let releases = 0;
// --- The mechanism.
const describe = () => message(
  bytes(1, "above"), bytes(2, "1.0.0"), bytes(3, "how many values are at least as large as a number"),
  bytes(4, JSON.stringify({ type: "object", additionalProperties: false, required: ["column", "from"],
    properties: { column: { type: "string" }, from: { type: "number" } } })),
  bytes(5, Buffer.from([1, 2])), bytes(6, "full"), int(10, 1)); // both relations; linear

// layout is what follows from a request (the fields 2, 3 and 4 of PlanRequest and of ReleaseRequest): public facts alone.
function layout(r) {
  const params = JSON.parse(text(r[2])), columns = (decode(r[3]).all[5] ?? []).map(decode);
  const column = columns.find((c) => text(c[1]) === params.column), epsilon = real(decode(r[4])[1]);
  if (!column || whole(column[2]) !== 1) return { refusal: "column: it must be a declared number" };
  if (!(epsilon > 0)) return { refusal: "guarantee: epsilon must be positive" };
  const scale = laplaceScale(1, epsilon); // a record counts once, or not at all: 1 under both relations
  const event = `{"discrete_laplace":{"scale":${scale},"sensitivity":{"add-remove":1,"replace-one":1}}}`; // canonical (9)
  return { params, column: params.column, scale, event };
}

const plan = (l) => message(
  bytes(1, l.column), bytes(2, l.event), bytes(3, message(bytes(1, "count"), int(2, 2))), int(4, 1),
  bytes(5, message(bytes(1, "count"), double(2, Math.SQRT2 * l.scale), double(3, Math.log(20) * l.scale))));

// laplaceScale is the rounding rule of section 10: exact fractions, as [numerator, denominator].
function laplaceScale(sensitivity, epsilon) {
  const fraction = (x) => { let d = 1n; while (!Number.isInteger(x)) { x *= 2; d *= 2n; } return [BigInt(x), d]; };
  const [s, sd] = fraction(sensitivity), [e, ed] = fraction(epsilon);
  const top = s * ed * 2n ** 46n, bottom = sd * e * (2n ** 46n - 1n);
  const unit = top >= bottom * 2n ** 32n ? 1n : 2n ** 20n, steps = (top * unit) / bottom + 1n;
  if (steps > 2n ** 53n) throw new Status(ABORTED); // such noise is of no use, and above the limit of section 6
  return Number(steps) / Number(unit);
}

// --- Rows: an Arrow IPC stream over a unix socket (6). The schema follows from the plan, so only the batches are looked at.
async function countRows(socket, l) {
  let rest = Buffer.alloc(0), ended = false, count = 0;
  for await (const chunk of net.connect(socket)) {
    rest = Buffer.concat([rest, chunk]);
    while (!ended && rest.length >= 8) {
      if (rest.readUInt32LE(0) !== 0xffffffff) throw new Error("not a row stream");
      const size = rest.readUInt32LE(4);
      if (size === 0) { ended = true; break; }
      if (rest.length < 8 + size) break;
      const meta = table(rest.subarray(8, 8 + size), rest.readUInt32LE(8)), body = Number(meta.long(3));
      if (rest.length < 8 + size + body) break;
      if (meta.byte(1) === 3) count += batch(meta.table(2), rest.subarray(8 + size, 8 + size + body), l.params.from);
      rest = rest.subarray(8 + size + body);
    }
  }
  if (!ended) throw new Error("the rows were cut off");
  return count;
}

// batch counts in a record batch: the first two buffers are the validity and the values of the one column.
function batch(b, body, from) {
  const rows = Number(b.long(0)), [valid, validLength, values] = b.vector(2);
  let count = 0;
  for (let i = 0; i < rows; i++)
    if ((validLength === 0 || (body[valid + (i >> 3)] >> (i & 7)) & 1) && body.readDoubleLE(values + 8 * i) >= from) count++;
  return count;
}

// table reads the fields of a table of a flatbuffer: a list of places lies at a distance before it.
function table(b, at) {
  const places = at - b.readInt32LE(at);
  const place = (i) => { const o = 4 + 2 * i < b.readUInt16LE(places) ? b.readUInt16LE(places + 4 + 2 * i) : 0; return o ? at + o : 0; };
  const follow = (i) => place(i) + b.readUInt32LE(place(i));
  return {
    byte: (i) => (place(i) ? b[place(i)] : 0),
    long: (i) => (place(i) ? b.readBigInt64LE(place(i)) : 0n),
    table: (i) => table(b, follow(i)),
    vector: (i) => Array.from({ length: 2 * b.readUInt32LE(follow(i)) }, (_, k) => Number(b.readBigInt64LE(follow(i) + 4 + 8 * k))),
  };
}

// --- Noise: the host serves it at the address that it announces over the broker.
async function addLaplace(id, event, values) {
  if (!noise.has(id)) await new Promise((done) => waiting.set(id, done));
  const host = http2.connect("http://localhost", { createConnection: () => net.connect(noise.get(id)) });
  try {
    const packed = Buffer.alloc(8 * values.length);
    values.forEach((v, i) => packed.writeBigInt64LE(BigInt(v), 8 * i));
    const call = host.request({ ":method": "POST", ":path": "/dprelease.plugin.v1.Noise/AddLaplace", "content-type": "application/grpc+proto", te: "trailers" });
    call.end(frame(message(bytes(1, event), bytes(2, packed))));
    const out = (await first(frames(call)))[1];
    return values.map((_, i) => out.readBigInt64LE(8 * i));
  } finally {
    host.destroy();
  }
}

// --- The start (2, 3).
if (process.env.DPRELEASE_PLUGIN !== "mechanism-v1" || !(process.env.PLUGIN_PROTOCOL_VERSIONS ?? "").split(",").includes("1")) {
  process.stderr.write("This is a plugin of dprelease, for version 1 of its protocol. It is not run by hand.\n");
  process.exit(1);
}
process.stdin.on("end", () => process.exit(0)).on("error", () => process.exit(0)).resume(); // the lifeline
const address = path.join(process.env.PLUGIN_UNIX_SOCKET_DIR, "above");
http2.createServer().on("stream", answer).listen(address, () => process.stdout.write(`1|1|unix|${address}|grpc|\n`));
