/** A vector as it is written in JSON: an array of numbers, or a string of base64. It is not parsed. */
export class WrittenVector {
  readonly json: Uint8Array
  readonly dimensions: number

  constructor(json: Uint8Array, dimensions: number) {
    this.json = json
    this.dimensions = dimensions
  }

  /** The vector in a reply that is stored. */
  toJSON(): unknown {
    return JSON.parse(Buffer.from(this.json.buffer, this.json.byteOffset, this.json.length).toString("latin1"))
  }
}
