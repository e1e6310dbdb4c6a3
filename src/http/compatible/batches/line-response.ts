/** The response to a request of a batch: it is written into memory, by the handlers that write to clients. */
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { LineReply } from "../../../batches/line-calls.ts"

type Written = (error?: Error | null) => void

export class LineResponse extends ServerResponse {
  readonly #parts: Array<Buffer> = []
  #head: Readonly<Record<string, string>> = {}
  override headersSent = false

  constructor() {
    const request = new IncomingMessage(new Socket())
    request.complete = true
    super(request)
  }

  override writeHead(status: number, ...rest: ReadonlyArray<unknown>): this {
    this.statusCode = status
    this.headersSent = true
    this.#head = headersIn(
      rest.findLast((each) => typeof each === "object" && each !== null && !Array.isArray(each)) ?? {},
    )
    return this
  }

  override write(chunk: unknown, ...rest: ReadonlyArray<unknown>): boolean {
    this.#add(chunk)
    callbackIn(rest)?.(null)
    return true
  }

  override end(...args: ReadonlyArray<unknown>): this {
    const [chunk] = args
    this.headersSent = true
    this.#add(chunk)
    callbackIn(args)?.(null)
    return this
  }

  get reply(): LineReply {
    return { status: this.statusCode, headers: this.#head, body: Buffer.concat(this.#parts).toString("utf8") }
  }

  /** A part of a reply is freed when it is written. */
  #add(chunk: unknown): void {
    if (typeof chunk === "string") this.#parts.push(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array) this.#parts.push(Buffer.from(chunk))
  }
}

const callbackIn = (args: ReadonlyArray<unknown>): Written | undefined => {
  const last = args.at(-1)
  return isWritten(last) ? last : undefined
}

const isWritten = (value: unknown): value is Written => typeof value === "function"

const headersIn = (headers: OutgoingHttpHeaders | object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
