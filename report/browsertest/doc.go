// Package browsertest opens the privacy report, the planner's pages and the page to design a job in a real browser: headless
// Chromium, driven by playwright-core, with the accessibility rules of axe-core.
// It has no code, only a test.
//
// The test needs node, Chromium and the packages of package-lock.json (npm ci in
// this folder). Where they are missing it is skipped, and says so; with CI=true in
// the environment a missing one is a failure. With SCREENSHOTS=DIR in the
// environment it leaves pictures and PDFs for people to look at.
//
// It may import report, and builds cmd/dprelease and cmd/dprelease-design. It promises that a page opens without an error and without
// asking for anything else, that nothing is cut off on a screen, a narrow phone or
// paper, and that no accessibility rule is violated. It cannot say whether a page
// is beautiful.
package browsertest
