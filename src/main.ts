#!/usr/bin/env node
/** Weir begins here. Compiled code is kept in the user's own cache: a command starts a sixth earlier. */
import { existsSync } from "node:fs"
import { enableCompileCache } from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

const caches = process.env["XDG_CACHE_HOME"]
if (existsSync(caches || homedir())) {
  const folder = join(caches || join(homedir(), ".cache"), "weir")
  enableCompileCache(folder)
  // Threads learn it from here.
  process.env["NODE_COMPILE_CACHE"] ??= folder
}
await import("./cli/command-line.ts")
