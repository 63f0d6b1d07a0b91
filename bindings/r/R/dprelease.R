# Runs the program and returns the JSON objects that it printed. The program is the one that the variable DPRELEASE names, or the one on the PATH.
call <- function(args, set = list()) {
  for (name in names(set)) args <- c(args, "--set", paste0(name, "=", set[[name]]))
  program <- Sys.getenv("DPRELEASE", "dprelease")
  if (!nzchar(Sys.which(program))) stop("there is no program ", program, ": install dprelease, or set the variable DPRELEASE to its path", call. = FALSE)
  out <- suppressWarnings(system2(program, shQuote(c(args, "--json")), stdout = TRUE, stderr = FALSE))
  status <- attr(out, "status")
  events <- parsed(out)
  if (!is.null(status) && status != 0) stop(failed(events, status))
  events
}

# The program prints one object, or one on each line.
parsed <- function(lines) {
  Encoding(lines) <- "UTF-8"
  whole <- tryCatch(list(jsonlite::fromJSON(paste(lines, collapse = "\n"), simplifyVector = FALSE)), error = function(e) NULL)
  if (is.null(whole)) lapply(lines[nzchar(lines)], jsonlite::fromJSON, simplifyVector = FALSE) else whole
}

# What the program says where it fails, as a condition of class dprelease_error with its code and its problems.
failed <- function(events, status) {
  of <- function(kind) Filter(function(e) identical(e$event, kind), events)
  problems <- vapply(of("problem"), problem, "")
  end <- of("failed")
  end <- if (length(end) > 0) end[[1]] else list(code = "", message = "the program said nothing", spent = "", retry = "")
  text <- sprintf("%s: %s (spent: %s; retry: %s)", end$code, end$message, end$spent, end$retry)
  structure(class = c("dprelease_error", "error", "condition"),
    list(message = paste(c(text, problems), collapse = "\n"), call = NULL, code = end$code, exit = status, spent = end$spent, problems = problems))
}

problem <- function(p) {
  hint <- if (nzchar(p$hint)) paste0(" (", p$hint, ")") else ""
  sprintf("%s:%d:%d: %s: %s%s", p$file, p$line, p$column, p$path, p$message, hint)
}

check <- function(job, set = list(), look = NULL) {
  tryCatch({
    call(c("check", job, if (!is.null(look)) c("--data", "--out", look)), set)
    character()
  }, dprelease_error = function(e) switch(e$code, INVALID_JOB = e$problems, DATA_UNFIT = conditionMessage(e), stop(e)))
}

plan <- function(job, set = list()) structure(last(call(c("plan", job), set)), class = "dprelease_plan")

run <- function(job, set = list()) read_release(last(call(c("run", job), set))$outcome$dir)

ledger <- function(job, set = list()) last(call(c("ledger", "show", job), set))

last <- function(x) x[[length(x)]]

read_release <- function(dir, name = NULL) {
  report <- jsonlite::fromJSON(file.path(dir, "report.json"), simplifyVector = FALSE)
  entries <- report$releases
  names(entries) <- vapply(entries, function(e) e$name, "")
  if (!is.null(name)) {
    if (is.null(entries[[name]])) stop("there is no release ", name, call. = FALSE)
    return(read_one(dir, entries[[name]], report$job))
  }
  structure(lapply(entries, function(e) read_one(dir, e, report$job)), class = "dprelease_run", guarantee = report$guarantee, job = report$job)
}

read_one <- function(dir, entry, job) {
  paths <- vapply(entry$files, function(f) f$path, "")
  path <- paths[grepl("\\.json$", paths)]
  if (length(path) == 0) stop(entry$name, " is in no JSON file: add json to output.formats", call. = FALSE)
  rows <- jsonlite::fromJSON(file.path(dir, path[1]), simplifyVector = FALSE)
  columns <- lapply(entry$fields, function(f) {
    if (f$type == "string") return(vapply(rows, function(row) as.character(row[[f$name]]), ""))
    vapply(rows, function(row) if (is.null(row[[f$name]])) NA_real_ else as.double(row[[f$name]]), 0)
  })
  names(columns) <- vapply(entry$fields, function(f) f$name, "")
  frame <- as.data.frame(columns, optional = TRUE, stringsAsFactors = FALSE)
  attr(frame, "release") <- entry$name
  attr(frame, "sd") <- columns$noise_sd
  if (all(c("interval_low", "interval_high") %in% names(columns))) attr(frame, "interval") <- cbind(low = columns$interval_low, high = columns$interval_high)
  attr(frame, "guarantee") <- if (is.null(entry$price)) entry$guarantee else entry$price
  attr(frame, "job") <- job
  attr(frame, "limits") <- vapply(entry$limits$text, identity, "")
  class(frame) <- c("dprelease_release", "data.frame")
  frame
}

print.dprelease_release <- function(x, ...) {
  frame <- x
  class(frame) <- "data.frame"
  print(frame, ...)
  if (is.null(attr(x, "guarantee"))) return(invisible(x)) # a part of a release
  cat(attr(x, "release"), " cost ", cost(attr(x, "guarantee")), " on its own.\n", sep = "")
  for (text in attr(x, "limits")) cat(text, ".\n", sep = "")
  invisible(x)
}

print.dprelease_run <- function(x, ...) {
  for (one in unclass(x)) {
    print(one, ...)
    cat("\n")
  }
  cat("Everything together cost ", cost(attr(x, "guarantee")), ".\n", sep = "")
  invisible(x)
}

print.dprelease_plan <- function(x, ...) {
  for (r in x$releases) cat(r$name, ": ", cost(if (is.null(r$price)) r$guarantee else r$price), " on its own\n", sep = "")
  cat("the whole job: ", cost(x$guarantee), "\n", sep = "")
  invisible(x)
}

plot.dprelease_release <- function(x, ...) {
  if (is.null(x$estimate)) stop("this release has no estimates to plot", call. = FALSE)
  words <- vapply(unclass(x), is.character, NA)
  at <- rev(seq_len(nrow(x)))
  labels <- if (any(words)) do.call(paste, unclass(x)[words]) else rep("", nrow(x))
  interval <- attr(x, "interval")
  graphics::plot(x$estimate, at, xlim = range(x$estimate, interval, na.rm = TRUE), yaxt = "n", ylab = "", xlab = attr(x, "release"), pch = 19, ...)
  if (!is.null(interval)) graphics::segments(interval[, "low"], at, interval[, "high"], at)
  graphics::axis(2, at, labels, las = 1)
  invisible(x)
}

cost <- function(g) paste0("\u03b5 ", up(g$epsilon), ", \u03b4 ", up(g$delta))

# Writes a number with four digits, never smaller than it is.
up <- function(x) {
  near <- signif(x, 4)
  if (near < x) near <- signif(near + 10^(floor(log10(x)) - 3), 4)
  format(near, digits = 4)
}
