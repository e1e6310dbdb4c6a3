/** Reads the reply of a server of tools: messages before the result are passed on, and the result ends it. */
import type { Delivered, Reader } from "../../calls/vendor/work.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import { isResponse, type ResponseMessage } from "../../protocol/mcp/message.ts"
import { MessageReader, type ReadMessage } from "../../tool-servers/message-reader.ts"
import type { UpstreamHead } from "../../upstream/client.ts"

export interface ToolReplyListener {
  /** The answer to the request. @returns the fault, if it says that the request was not even looked at */
  readonly answered: (message: ResponseMessage, text: string) => VendorFault | undefined
  /** A notification, or a request of the server. */
  readonly between: (read: ReadMessage) => void
  /** The fault of a reply with a status of a refusal that has no message. */
  readonly refused: (status: number) => VendorFault
}

export class ToolReader implements Reader {
  readonly isStreamed = true
  readonly #messages: MessageReader
  readonly #listener: ToolReplyListener
  readonly #status: number
  readonly #id: string
  #isWhole = false
  #hasNews = false
  fault: VendorFault | undefined

  constructor({ status, headers }: UpstreamHead, id: string, maxBytes: number, listener: ToolReplyListener) {
    this.#listener = listener
    this.#status = status
    this.#id = id
    this.#messages = new MessageReader(headers["content-type"] ?? "", maxBytes, (read) => this.#take(read))
  }

  read(bytes: Uint8Array): boolean {
    this.#messages.push(bytes)
    return this.#said()
  }

  readEnd(): boolean {
    this.#messages.end()
    if (!this.#isWhole && this.#status >= 400) this.fault ??= this.#listener.refused(this.#status)
    return this.#said() || this.#isWhole
  }

  deliver(): Delivered {
    if (this.fault !== undefined) return this.fault
    return this.#isWhole ? "whole" : "more"
  }

  #said(): boolean {
    if (this.#messages.isMalformed && !this.#isWhole) {
      this.fault ??= this.#status >= 400 ? this.#listener.refused(this.#status) : malformedReply
    }
    const said = this.#hasNews || this.fault !== undefined
    this.#hasNews = false
    return said
  }

  #take(read: ReadMessage): void {
    const { message } = read
    if (this.#isWhole) return
    this.#hasNews = true
    if (isResponse(message)) {
      const isError = "error" in message
      // An answer to something else is not read.
      if (message.id !== this.#id && !(isError && (message.id ?? null) === null)) return
      this.#isWhole = true
      this.fault ??= this.#listener.answered(message, read.text)
    } else this.#listener.between(read)
  }
}
