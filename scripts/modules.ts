/**
 * Compiles the modules that others import, the client and the layers for tests, with declarations. Only files that have
 * changed since the last build are compiled, in a folder that is kept: the declarations of everything take four seconds.
 */
import { execFileSync } from "node:child_process"
import { hash } from "node:crypto"
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const cache = join(root, "node_modules/.cache/weir-modules")

/** Each set of files has its folder: in another's, what was compiled of a source that is gone would stay. */
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).sort()
const name = hash("sha256", sources.join("\n")).slice(0, 16)
if (!existsSync(join(cache, name))) rmSync(cache, { recursive: true, force: true })

const compiled = join(cache, name, "modules")
const state = join(cache, name, "state.json")
execFileSync(
  process.execPath,
  [
    join(root, "node_modules/typescript/bin/tsc"),
    ...["-p", join(root, "scripts/build.json"), "--checkers", "1"],
    ...["--incremental", "--tsBuildInfoFile", state, "--outDir", compiled],
  ],
  { stdio: "inherit" },
)
cpSync(compiled, join(root, "dist"), { recursive: true })
