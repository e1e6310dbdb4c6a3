/**
 * Long texts of a vendor's reply, pictures in base64: they are on the disk while the call runs. In the reply's JSON a
 * placeholder replaces each, in the vendor's format and in the client's; the text replaces it when the reply is written.
 */
import { randomBytes } from "node:crypto"
import { Result } from "effect"
import type { Marked, StoredPart } from "./marked.ts"
import type { SpoolError, SpooledBytes } from "./spooled-bytes.ts"

/** The number of bytes of a text that its mark begins with: enough to see its format. */
const beginningBytes = 60
const numberDigits = 8
/** Bytes that are written at a time. */
const writeBytes = 256 * 1024

/** The content of one JSON string, as the vendor wrote it. */
export class StoredText implements StoredPart {
  /** The placeholder, in base64's letters like a text of the kind; no vendor can know it. */
  readonly mark: string
  /** Characters of the placeholder before the token. */
  readonly beginning: number
  /** The text is on the disk. */
  readonly heldBytes = 0
  readonly #content: SpooledBytes

  constructor(content: SpooledBytes, beginning: string, token: string) {
    this.#content = content
    this.mark = beginning + token
    this.beginning = beginning.length
  }

  get bytes(): number {
    return this.#content.bytes
  }

  add(chunk: Uint8Array): void {
    this.#content.add(chunk)
  }

  /** @returns a promise of what is written now; undefined if it waits for more */
  flush(isLast: boolean): Promise<void> | undefined {
    return isLast || this.#content.pendingBytes >= writeBytes ? this.#content.flush() : undefined
  }

  /** The text, after its last flush. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    await this.#content.flush()
    for await (const chunk of this.#content.chunks()) yield new Uint8Array(chunk)
  }

  close(): Promise<void> {
    return this.#content.close()
  }
}

export class StoredTexts implements Marked {
  readonly #open: () => Result.Result<SpooledBytes, SpoolError>
  readonly #token = randomBytes(16).toString("hex")
  readonly #texts: Array<StoredText> = []

  constructor(open: () => Result.Result<SpooledBytes, SpoolError>) {
    this.#open = open
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0
  }

  /**
   * Begins a text.
   * @param beginning the beginning of a string of JSON in base64
   */
  begin(beginning: Uint8Array): Result.Result<StoredText, SpoolError> {
    return Result.map(this.#open(), (content) => {
      const raw = Buffer.from(beginning.subarray(0, beginningBytes)).toString("latin1")
      const number = String(this.#texts.length).padStart(numberDigits, "0")
      const text = new StoredText(content, raw.replaceAll("\\/", "/").replace("\\", ""), this.#token + number)
      this.#texts.push(text)
      return text
    })
  }

  partsOf(marked: string): ReadonlyArray<string | StoredText> {
    const parts: Array<string | StoredText> = []
    let from = 0
    for (let at = marked.indexOf(this.#token); at !== -1; at = marked.indexOf(this.#token, from)) {
      const end = at + this.#token.length + numberDigits
      const text = this.#texts[Number(marked.slice(end - numberDigits, end))]
      if (text === undefined) break
      parts.push(marked.slice(from, at - text.beginning), text)
      from = end
    }
    return [...parts, marked.slice(from)]
  }

  async close(): Promise<void> {
    await Promise.all(this.#texts.splice(0).map((text) => text.close()))
  }
}
