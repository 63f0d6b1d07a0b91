# The blocks of the page start.md run in order, and say what the page says of them.
program <- Sys.getenv("DPRELEASE")
if (!nzchar(program) && !nzchar(Sys.which("dprelease"))) quit(status = 0)

lines <- readLines(system.file("doc", "start.md", package = "dprelease", mustWork = TRUE), encoding = "UTF-8")
fence <- startsWith(lines, "```")
inside <- cumsum(fence) %% 2 == 1 & !fence
folder <- tempfile()
dir.create(folder)
setwd(folder)
shown <- list()
for (e in parse(text = lines[inside], encoding = "UTF-8")) {
  value <- withVisible(eval(e, globalenv()))
  if (value$visible) shown <- c(shown, list(if (inherits(value$value, "data.frame")) value$value else capture.output(print(value$value))))
}
said <- function(k, text) any(grepl(text, shown[[k]], fixed = TRUE))
has <- function(text) which(vapply(seq_along(shown), said, NA, text))
stopifnot(identical(shown[[1]], "character(0)"), length(has("DATA_UNFIT")) == 1, length(has("character(0)")) == 2,
  length(has("the whole job: \u03b5 0.5, \u03b4 0")) == 1, length(has("Everything together cost \u03b5 0.5, \u03b4 0.")) == 1,
  identical(tail(shown, 2), list("[1] TRUE", '[1] "0.5"')))
frames <- Filter(is.data.frame, shown)
stopifnot(length(frames) == 1, identical(frames[[1]]$region, c("north", "south", "east")), all(frames[[1]]$low > 0), all(is.na(frames[[1]]$high)))
stopifnot(any(grepl("abroad", readLines("CONFIDENTIAL-look.txt"))), !any(grepl("abroad", unlist(shown))))
