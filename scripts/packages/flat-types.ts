/**
 * Types of the protocol without its schemas: the compiler writes each one out, so that a program without Effect has the
 * same types.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** Names by their module of `src/protocol`. */
export type Wanted = ReadonlyMap<string, ReadonlySet<string>>

const root = fileURLToPath(new URL("../..", import.meta.url))
const draft = join(root, "node_modules/.cache/weir-flat-types")

/** Values of the client's interface that are no types. */
const values: ReadonlyMap<string, string> = new Map([
  ["errorCodes", "export declare const errorCodes: ReadonlyArray<ErrorCode>"],
])

const json = `/** A value of JSON. */
export type Json = null | string | number | boolean | ReadonlyArray<Json> | { readonly [key: string]: Json }
`

/** The text of each module's declarations. */
export const flatTypes = (wanted: Wanted): ReadonlyMap<string, string> => {
  const names = [...wanted].flatMap(([module, ofModule]) =>
    [...ofModule].filter((name) => !values.has(name)).map((name) => ({ module, name })),
  )
  const written = expand(names)
  const texts = new Map<string, Array<string>>()
  names.forEach(({ module, name }, at) => {
    const type = written[at]
    if (type === undefined || /\bany\b|import\(/.test(type))
      throw new Error(`${module}.${name} was not written out: ${type}`)
    texts.set(module, [...(texts.get(module) ?? []), `export type ${name} = ${type}`])
  })
  return new Map(
    [...wanted].map(([module, ofModule]) => {
      const declared = [...(texts.get(module) ?? []), ...[...ofModule].flatMap((name) => values.get(name) ?? [])]
      const text = `${declared.join("\n")}\n`
      return [module, /\bJson\b/.test(text) ? `${json}${text}` : text]
    }),
  )
}

/** The types as the compiler writes them where they are inferred. */
const expand = (names: ReadonlyArray<{ readonly module: string; readonly name: string }>): ReadonlyArray<string> => {
  mkdirSync(draft, { recursive: true })
  const lines = names.flatMap(({ module, name }, at) => [
    `import type { ${name} as T${at} } from ${JSON.stringify(join(root, "src/protocol", `${module}.ts`))}`,
    `export const v${at} = made<T${at}>()`,
  ])
  const source = `import type { Schema } from "effect"
interface Json { readonly "~json": true }
type Flat<T> = [Schema.Json] extends [T] ? Json
  : T extends string | number | boolean | null | undefined | Uint8Array ? T
  : T extends ReadonlyArray<infer E> ? ReadonlyArray<Flat<E>>
  : { [K in keyof T]: Flat<T[K]> }
declare const made: <T>() => Flat<T>
${lines.join("\n")}
`
  writeFileSync(join(draft, "types.ts"), source)
  const options = { extends: join(root, "tsconfig.json"), files: ["types.ts"], include: [] }
  const compilerOptions = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: "out", rootDir: root }
  writeFileSync(join(draft, "tsconfig.json"), JSON.stringify({ ...options, compilerOptions }))
  execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", draft, "--checkers", "1"], {
    stdio: "inherit",
  })
  const text = readFileSync(join(draft, "out/node_modules/.cache/weir-flat-types/types.d.ts"), "utf8")
  const types = new Map(
    text.split(/^export declare const /m).map((declared) => {
      const [name = "", ...type] = declared.split(": ")
      return [name, type.join(": ").trimEnd()]
    }),
  )
  return names.map((_, at) => types.get(`v${at}`) ?? "")
}
