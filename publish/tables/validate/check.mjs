// Reads the files of a publication with libraries that others wrote: each CSV file by the metadata beside it (CSV on the Web), and the DCAT
// record as JSON-LD. Every term must be one of its vocabulary, and every value one of its type.
// It prints one object: how many cells and statements were read, and what is wrong.
import {readdirSync, readFileSync, createReadStream, existsSync} from 'node:fs'
import {join} from 'node:path'
import model from '@rdfjs/data-model'
import datasets from '@rdfjs/dataset'
import csvwTerms from '@vocabulary/csvw'
import dcatTerms from '@vocabulary/dcat'
import dctTerms from '@vocabulary/dcterms'
import Parser from '@zazuko/rdf-parser-csvw'
import jsonld from 'jsonld'
import {validateTerm} from 'rdf-validate-datatype'

const CSVW = 'http://www.w3.org/ns/csvw#', XSD = 'http://www.w3.org/2001/XMLSchema#'
// The terms of http://www.w3.org/ns/csvw that the metadata of one table can have.
const context = {
  '@vocab': CSVW, csvw: CSVW, xsd: XSD, dc: 'http://purl.org/dc/terms/',
  url: {'@id': 'csvw:url', '@type': '@id'}, tableSchema: {'@id': 'csvw:tableSchema', '@type': '@id'}, columns: {'@id': 'csvw:column', '@type': '@id', '@container': '@list'},
  titles: {'@id': 'csvw:title', '@container': '@language'}, name: {'@id': 'csvw:name', '@language': null},
  propertyUrl: {'@id': 'csvw:propertyUrl', '@type': 'csvw:uriTemplate'}, datatype: {'@id': 'csvw:datatype', '@type': '@vocab'},
  string: 'xsd:string', integer: 'xsd:integer', double: 'xsd:double',
}
const noNetwork = address => { throw new Error('asks for ' + address) }
const problems = []
const answer = {cells: 0, statements: 0, problems}

function term(t) {
  if (t.termType === 'Literal') return model.literal(t.value, t.language || model.namedNode(t.datatype.value))
  return t.termType === 'BlankNode' ? model.blankNode(t.value) : model.namedNode(t.value)
}

async function statements(document, base) {
  const quads = await jsonld.toRDF(document, {base, documentLoader: noNetwork})
  return quads.map(q => model.quad(term(q.subject), term(q.predicate), term(q.object)))
}

// defined are the terms of vocabularies. Terms of other namespaces are not looked at.
function defined(...vocabularies) {
  const out = new Set()
  for (const v of vocabularies) for (const q of v({factory: model})) out.add(q.subject.value)
  return out
}

function judge(where, quads, terms, namespaces) {
  for (const q of quads) {
    for (const t of [q.predicate, q.object]) {
      if (t.termType === 'NamedNode' && namespaces.some(n => t.value.startsWith(n)) && !terms.has(t.value)) problems.push(`${where}: ${t.value} is no term`)
    }
    if (q.object.termType === 'Literal' && !validateTerm(q.object)) problems.push(`${where}: ${q.object.value} is no ${q.object.datatype.value}`)
  }
}

const folder = process.argv[2]
for (const name of readdirSync(folder).filter(n => n.endsWith('.csv'))) {
  const text = JSON.parse(readFileSync(join(folder, name + '-metadata.json'), 'utf8'))
  const [address, {'@language': language}] = text['@context']
  if (address !== 'http://www.w3.org/ns/csvw') problems.push(`${name}: the context is ${address}`)
  const quads = await statements({...text, '@context': {...context, '@language': language}}, 'https://example.org/')
  judge(name, quads, defined(csvwTerms, dctTerms), [CSVW, 'http://purl.org/dc/terms/'])
  const stream = new Parser({metadata: datasets.dataset(quads), baseIRI: 'https://example.org/', factory: undefined}).import(createReadStream(join(folder, name)))
  const cells = []
  for await (const q of stream) cells.push(q)
  answer.cells += cells.length
  judge(name, cells, new Set(), [])
}
const record = JSON.parse(readFileSync(join(folder, 'dcat.jsonld'), 'utf8'))
const quads = await statements(record, 'https://example.org/')
answer.statements = quads.length
judge('dcat.jsonld', quads, defined(dcatTerms, dctTerms), ['http://www.w3.org/ns/dcat#', 'http://purl.org/dc/terms/'])
for (const q of quads) {
  if (!q.predicate.value.endsWith('#downloadURL') && !q.predicate.value.endsWith('#seeAlso')) continue
  const file = q.object.value.replace('https://example.org/', '')
  if (!existsSync(join(folder, file))) problems.push(`dcat.jsonld: there is no file ${file}`)
}
console.log(JSON.stringify(answer))
