#!/usr/bin/env node
// The command begins here, in words that an old Node knows: only then is the rest of it loaded.
const wanted = [22, 19]
const [major, minor] = process.versions.node.split(".").map(Number)
if (major > wanted[0] || (major === wanted[0] && minor >= wanted[1])) await import("./dist/bin/main.js")
else {
  console.error(`Weir needs Node ${wanted.join(".")} or newer, and this is Node ${process.versions.node}.`)
  process.exitCode = 1
}
