/** Names of tools and arguments: letters, digits, `_` and `-`, as the APIs of models allow them. */
import { createHash } from "node:crypto"

const hashLength = 8

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, hashLength)

/** The part of a longer text that becomes a name. */
const longest = 256

const plain = (text: string): string =>
  text
    .slice(0, longest)
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")

export interface NamedOperation {
  readonly operationId: string | undefined
  readonly method: string
  readonly path: string
}

/**
 * The name of an operation's tool: its id, or its method and path. A name that is too long, or taken, ends in a hash, so that it
 * does not depend on the order of operations more than it must.
 */
export const toolNameOf = (operation: NamedOperation, taken: ReadonlySet<string>, maxLength: number): string => {
  const { operationId, method, path } = operation
  const name =
    plain(operationId ?? "") ||
    plain(`${method.toLowerCase()}${path.slice(0, longest).replace(/\{([^{}]*)\}/g, "by_$1")}`) ||
    method
  if (name.length <= maxLength && !taken.has(name)) return name
  const digest = digestOf(`${method} ${path}`)
  return `${name.slice(0, maxLength - hashLength - 1).replace(/_+$/, "")}_${digest}`
}

/** The length that models' APIs allow for a property of a tool's input. */
const maxArgument = 64

export const isArgumentName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name)

/** The name of a parameter's argument, such as `filter_name` of `filter[name]`. */
export const argumentNameOf = (name: string, place: string, taken: ReadonlySet<string>): string => {
  const own = isArgumentName(name) ? name : plain(name).slice(0, maxArgument - hashLength - 1) || "parameter"
  if (!taken.has(own)) return own
  const placed = `${own.slice(0, maxArgument - hashLength - 1)}_${place}`
  return taken.has(placed) ? `${own.slice(0, maxArgument - hashLength - 1)}_${digestOf(`${place} ${name}`)}` : placed
}
