/** The manifests: names that are ours, nothing of a stranger's, the same versions everywhere, and few dependencies. */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { version } from "../../src/protocol/version.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const Names = Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
const Manifest = Schema.Struct({
  name: Schema.String,
  version: Schema.optionalKey(Schema.String),
  private: Schema.optionalKey(Schema.Boolean),
  dependencies: Names,
  devDependencies: Names,
  peerDependencies: Names,
  optionalDependencies: Names,
  peerDependenciesMeta: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ optional: Schema.optionalKey(Schema.Boolean) })),
  ),
})
type Manifest = typeof Manifest.Type
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Manifest))
const read = (path: string): Manifest => decode(readFileSync(`${root}/${path}`, "utf8"))

const paths = globSync("{package.json,packages/*/package.json,examples/*/package.json}", { cwd: root })
const workspaces = paths.filter((path) => path.startsWith("packages/"))
/** `weir` and others without a scope of ours belong to strangers. */
const strangers = (manifest: Manifest): ReadonlyArray<string> =>
  Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  }).flatMap(([name, from]) =>
    /^weir\b/.test(name) ||
    /\bnpm:weir\b/.test(from) ||
    (name.startsWith("@weir-gateway/") && !from.startsWith("file:"))
      ? [`${name}: ${from}`]
      : [],
  )

describe("the manifests", () => {
  it("are those of the repository, three packages and an example", () => {
    expect(paths.length).toBeGreaterThan(4)
    expect(workspaces).toHaveLength(3)
  })

  it.each(paths)("%s names nothing that npm finds at a stranger's", (path) => {
    expect(strangers(read(path))).toEqual([])
  })

  it.each(workspaces)("%s has a name of ours, the version, and dependencies that the root has too", (path) => {
    const manifest = read(path)
    expect(manifest.name).toMatch(/^@weir-gateway\/\w+$/)
    expect(manifest.version).toBe(version)
    expect(read("package.json").dependencies).toMatchObject(manifest.dependencies ?? {})
  })

  it("publish the packages and nothing else", () => {
    for (const path of paths) expect(read(path).private === true).toBe(!workspaces.includes(path))
  })

  it("give the client no dependency, and Effect where one wants it", () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = read("packages/client/package.json")
    expect(dependencies).toBeUndefined()
    expect(Object.keys(peerDependencies ?? {})).toEqual(["effect"])
    expect(peerDependenciesMeta).toEqual({ effect: { optional: true } })
  })

  it("give the test kit all that the root has, and the command what is not bundled", () => {
    const { dependencies } = read("package.json")
    expect(read("packages/testing/package.json").dependencies).toEqual(dependencies)
    const { effect: _, "@effect/platform-node": __, "@effect/sql-pg": ___, ...installed } = dependencies ?? {}
    expect(read("packages/weir/package.json").dependencies).toEqual(installed)
  })
})

describe("the files of threads", () => {
  const threads = globSync("src/**/*-worker.ts", { cwd: root })
  // Only the test kit starts it.
  const ofKit = ["src/testing/reused-database-worker.ts"]

  it("are compiled for the test kit, since nothing imports them", () => {
    const { files }: { readonly files: ReadonlyArray<string> } = JSON.parse(
      readFileSync(`${root}/scripts/build.json`, "utf8"),
    )
    expect(threads.length).toBeGreaterThan(6)
    expect(threads.filter((path) => !files.includes(`../${path}`))).toEqual([])
  })

  it("are bundled for the command", () => {
    const bundle = readFileSync(`${root}/scripts/bundle.ts`, "utf8")
    expect(threads.filter((path) => !bundle.includes(`"${path}"`))).toEqual(ofKit)
  })
})

describe("the guide and the examples", () => {
  it("import nothing from a stranger's package", () => {
    const files = globSync("{src/docs/**/*.md,examples/**/*.{md,mjs},packages/*/*.js}", { cwd: root })
    expect(files.length).toBeGreaterThan(20)
    const found = files.filter((file) => /(?:from|import\() ?"weir\b/.test(readFileSync(`${root}/${file}`, "utf8")))
    expect(found).toEqual([])
  })
})

describe("the check itself", () => {
  it("finds a stranger by its name, by an alias, and a name of ours that the registry would be asked for", () => {
    const dependencies = { weir: "*", other: "npm:weir@1", "@weir-gateway/client": "1", effect: "4" }
    expect(strangers({ name: "x", dependencies })).toEqual(["weir: *", "other: npm:weir@1", "@weir-gateway/client: 1"])
  })
})
