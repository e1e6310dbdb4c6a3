/**
 * The elements of a long list in a JSON body, one after the other, without reading the body as a whole: other requests are
 * served in between.
 */
import { isUtf8 } from "node:buffer"
import type { Schema } from "effect"
import { Result } from "effect"
import { EventLoopBudget } from "../event-loop-budget.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { type Decoded, parseBody } from "../protocol/json/json-body.ts"
import { JsonScanner } from "../protocol/json/json-scanner.ts"

const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d

const turn = new EventLoopBudget(256 * 1024)

export class ListIn {
  readonly #scanner: JsonScanner
  readonly #begin: number | undefined
  #end: number | undefined

  /** @param path the names of the objects on the way to the list, and its own */
  constructor(body: Uint8Array, path: ReadonlyArray<string>) {
    this.#scanner = new JsonScanner(body)
    this.#begin = isUtf8(body) ? listAt(this.#scanner, path) : undefined
  }

  get isThere(): boolean {
    return this.#begin !== undefined
  }

  /** The texts of the elements. Text that is no JSON may be among them. */
  async *elements(): AsyncGenerator<string> {
    const { text } = this.#scanner
    if (this.#begin === undefined) return
    let at = this.#scanner.afterSpace(this.#begin + 1)
    while (at < text.length && text[at] !== closeBracket) {
      const end = this.#scanner.endOf(at)
      const later = turn.take(end - at)
      if (later !== undefined) await later
      yield text.toString("utf8", at, end)
      const next = this.#scanner.afterSpace(end)
      at = text[next] === comma ? this.#scanner.afterSpace(next + 1) : next
      if (next === end && text[next] !== closeBracket && text[next] !== comma) break
    }
    this.#end = at
  }

  /** The body with an empty list in place of this one, once all elements were read. */
  rest(): Decoded<Schema.Json> {
    const { text } = this.#scanner
    if (this.#begin === undefined || this.#end === undefined) return Result.fail(noList)
    return parseBody(Buffer.concat([text.subarray(0, this.#begin + 1), text.subarray(this.#end)]))
  }
}

const noList = invalidInput([{ path: "", message: "The body is not valid JSON" }])

const listAt = (scanner: JsonScanner, path: ReadonlyArray<string>): number | undefined => {
  let at = scanner.afterSpace(0)
  for (const name of path) {
    let found: number | undefined
    if (!scanner.isContainer(at)) return undefined
    scanner.each(at, (member, value) => {
      if (member !== name) return scanner.endOf(value)
      found = value
      // Nothing after it is looked at.
      return scanner.text.length
    })
    if (found === undefined) return undefined
    at = found
  }
  return scanner.text[at] === openBracket ? at : undefined
}
