/** Recorded vendor traffic, where a machine has some: in `SVC_TEST_RECORDINGS`, or in `fixtures` of a folder beside ours. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"

const Recording = Schema.Struct({
  request: Schema.NullOr(Schema.Struct({ path: Schema.String, body: Schema.Unknown })),
  response: Schema.Struct({ status: Schema.Int, contentType: Schema.NullOr(Schema.String), body: Schema.String }),
})
export type Recording = typeof Recording.Type

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Recording))

const beside = fileURLToPath(new URL("../../..", import.meta.url))

const folder = (): string | undefined =>
  process.env["SVC_TEST_RECORDINGS"] ??
  readdirSync(beside)
    .map((name) => join(beside, name, "fixtures"))
    .find((path) => existsSync(path))

/** All recordings of one vendor by name; none where the machine has none. */
export const recordingsOf = (vendor: string): ReadonlyArray<readonly [name: string, recording: Recording]> => {
  const root = folder()
  const path = root === undefined ? undefined : join(root, vendor)
  if (path === undefined || !existsSync(path)) return []
  return readdirSync(path)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [name, decode(readFileSync(join(path, name), "utf8"))] as const)
}
