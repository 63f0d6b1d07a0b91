# The samples of the study, and what R's package survey says of each: Rscript survey.R FOLDER
suppressMessages(library(survey))
data(api)
folder <- commandArgs(TRUE)[1]

set.seed(2000)
chances <- c(E = 0.03, H = 0.1, M = 0.08)
apipoisson <- apipop[runif(nrow(apipop)) < 1 / 20, ]
apirates <- apipop[runif(nrow(apipop)) < chances[as.character(apipop$stype)], ]
apipoisson$pi <- rep(1 / 20, nrow(apipoisson))
apirates$pi <- chances[as.character(apirates$stype)]
bins <- c(200, 500, 600, 700, 1000)

designs <- list(
  srswor = svydesign(ids = ~1, fpc = ~fpc, data = apisrs),
  stratified = svydesign(ids = ~1, strata = ~stype, fpc = ~fpc, data = apistrat),
  poisson = svydesign(ids = ~1, fpc = ~pi, pps = poisson_sampling(apipoisson$pi), data = apipoisson),
  rates = svydesign(ids = ~1, fpc = ~pi, pps = poisson_sampling(apirates$pi), data = apirates),
  apiclus1 = svydesign(ids = ~dnum, fpc = ~fpc, data = apiclus1),
  apiclus2 = svydesign(ids = ~dnum + snum, fpc = ~fpc1 + fpc2, data = apiclus2),
  weights = svydesign(ids = ~1, weights = ~pw, data = apistrat)
)

out <- NULL
note <- function(design, statistic, result, df = Inf, cells = names(coef(result))) {
  ends <- confint(result, df = df)
  out <<- rbind(out, data.frame(design, statistic, cell = cells, estimate = as.vector(coef(result)),
    se = as.vector(SE(result)), low = ends[, 1], high = ends[, 2]))
}
for (name in names(designs)) {
  d <- update(designs[[name]], bin = cut(api00, bins, right = FALSE))
  df <- if (name %in% c("poisson", "rates")) Inf else degf(d)
  clusters <- name %in% c("apiclus1", "apiclus2")
  note(name, "mean", svymean(~api00, d), df, "")
  note(name, "mean by group", svyby(~api00, ~stype, d, svymean), df)
  known <- if (clusters) calibrate(d, ~1, c(`(Intercept)` = nrow(apipop))) else d
  note(name, "sum", svytotal(~api00, known), df, "")
  note(name, "sum by group", svyby(~api00, ~stype, d, svytotal), df)
  note(name, "share", svymean(~as.numeric(stype == "E"), d), df, "")
  note(name, "count", svytotal(~stype, d), df, levels(apipop$stype))
  if (clusters) next
  note(name, "ratio", svyratio(~api00, ~api99, d), df, "")
  note(name, "variance", svyvar(~api00, d), df, "")
  note(name, "histogram", svytotal(~bin, d), df, bins[1:4])
}
out[, 4:7] <- format(out[, 4:7], digits = 12)
write.csv(out, file.path(folder, "r.csv"), row.names = FALSE, quote = FALSE)
for (name in c("apisrs", "apistrat", "apipoisson", "apirates", "apiclus1", "apiclus2")) {
  s <- get(name)
  if (is.null(s$pw)) s$pw <- 1
  s <- data.frame(school_type = s$stype, district = s$dnum, api99 = s$api99, api00 = s$api00, weight = s$pw)
  write.csv(s, file.path(folder, paste0(name, ".csv")), row.names = FALSE, quote = FALSE)
}
