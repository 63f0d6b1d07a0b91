library(dprelease)

# Without the program there is nothing to try. Where DPRELEASE names one, it must be there.
program <- Sys.getenv("DPRELEASE")
if (!nzchar(program) && !nzchar(Sys.which("dprelease"))) quit(status = 0)

folder <- tempfile()
dir.create(folder)
setwd(folder)
writeLines(c("patient;region;cost", sprintf("%d;%s;%d,5", 1:900, ifelse(1:900 %% 3 == 0, "south", "north"), 1:900 %% 50)), "visits.csv")
job <- '
version: 1
job: visits
dataset:
  id: visits
  source: {path: visits.csv, delimiter: ";", decimal: ","}
  relation: add-remove
  unit: {column: patient, name: patient}
  cap: {groups: 1, rows: 2}
  columns:
    region: {domain: [north, south], outside: drop}
    cost: {lower: 0, upper: 2000, missing: drop}
budget: {limit: {epsilon: "1"}}
releases:
  - {name: visits, mechanism: count, by: [region], guarantee: {epsilon: "0.2"}}
  - {name: cost, mechanism: mean, params: {column: cost}, guarantee: {epsilon: "0.3"}}
output: {dir: out, formats: [csv, json]}
'
writeLines(job, "job.yaml")
stopifnot(length(check("job.yaml")) == 0)
planned <- plan("job.yaml")
stopifnot(planned$guarantee$epsilon <= 0.5, identical(tail(capture.output(print(planned)), 1), "the whole job: \u03b5 0.5, \u03b4 0"))
out <- run("job.yaml")
visits <- out$visits
stopifnot(is.data.frame(visits), identical(visits$region, c("north", "south")), length(attr(visits, "sd")) == 2,
  all(attr(visits, "interval")[, "low"] < visits$estimate), attr(visits, "guarantee")$epsilon <= 0.2, identical(attr(visits, "job")$name, "visits"))
said <- capture.output(print(out))
stopifnot(any(grepl("visits cost \u03b5 0.2, \u03b4 0 on its own.", said, fixed = TRUE)), any(grepl("at most", said)),
  identical(tail(said, 1), "Everything together cost \u03b5 0.5, \u03b4 0."))
plot(visits)
# Once more costs nothing, and gives the same values.
again <- run("job.yaml")
stopifnot(identical(again$visits$estimate, visits$estimate), identical(ledger("job.yaml")$accounts[[1]]$amounts[[1]]$spent, "0.5"),
  identical(read_release("out", "cost")$estimate, out$cost$estimate))
writeLines(sub('"0.2"', '"much"', job, fixed = TRUE), "bad.yaml")
stopifnot(length(check("bad.yaml")) == 1, startsWith(check("bad.yaml"), "bad.yaml:"))
caught <- tryCatch(run("bad.yaml"), dprelease_error = identity)
stopifnot(identical(caught$code, "INVALID_JOB"), identical(caught$spent, "none"))
caught <- tryCatch(check("absent.yaml"), dprelease_error = identity)
stopifnot(identical(caught$code, "JOB_UNREADABLE"))
# A cost is never rounded down.
set.seed(1)
for (x in runif(2000) * 10^sample(-9:3, 2000, TRUE)) {
  shown <- as.numeric(dprelease:::up(x))
  stopifnot(x <= shown, shown <= x * 1.0011)
}
stopifnot(identical(dprelease:::up(0.3), "0.3"), identical(dprelease:::up(0), "0"))

# A program that is not there is named, with what to do.
named <- Sys.getenv("DPRELEASE")
Sys.setenv(DPRELEASE = "/nowhere/dprelease")
stopifnot(grepl("set the variable DPRELEASE", conditionMessage(tryCatch(check("job.yaml"), error = identity)), fixed = TRUE))
if (nzchar(named)) Sys.setenv(DPRELEASE = named) else Sys.unsetenv("DPRELEASE")
