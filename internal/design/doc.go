// Package design serves the page on which a person designs a job: forms on one side, the job as YAML on the other, and
// what check and plan say of it.
//
// The server answers this machine alone, and only whoever has the address that it printed. It knows three verbs: look at a
// job (Edit, then pipeline.Check and Plan), study it (package planner), and save it. The page itself holds no logic about
// privacy: it sends what a person did, and shows the answer. Of a table the server reads the names and types of the columns,
// and never a value. Nothing is run or spent on it: pictures are made from invented tables, with a ledger of their own that
// is thrown away.
//
// It may import pipeline, internal/job, internal/plan/planner, report, and internal/data. It promises that a change keeps
// the comments of a job and every value that the change does not name. It does not protect against
// programs of the same user, who can read the job anyway.
package design
