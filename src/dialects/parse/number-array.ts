/**
 * Follows an array of numbers in JSON byte by byte, so that its text can be forwarded unchanged. Pure. Source: RFC 8259
 * sections 5 and 6.
 */

const [space, comma, minus, plus, zero, digit, point, exponent, close, other] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
const classes = 10

const classOf = new Uint8Array(256).fill(other)
for (const byte of Buffer.from(" \t\n\r")) classOf[byte] = space
for (const byte of Buffer.from("123456789")) classOf[byte] = digit
for (const [text, to] of [
  [",", comma],
  ["-", minus],
  ["+", plus],
  ["0", zero],
  [".", point],
  ["eE", exponent],
  ["]", close],
] as const)
  for (const byte of Buffer.from(text)) classOf[byte] = to

/**
 * The state after the last byte. `done` and `failed` are ends; an array without numbers fails. A number with `power` may be
 * too large for a float64, one with `fall` is not.
 */
const [begin, sign, naught, digits, dot, fraction, mark, rise, power, drop, fall, after, done, failed] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
]

const ends = [
  [comma, begin],
  [close, done],
  [space, after],
] as const
const steps: ReadonlyArray<ReadonlyArray<readonly [on: number, to: number]>> = [
  [
    [space, begin],
    [minus, sign],
    [zero, naught],
    [digit, digits],
  ],
  [
    [zero, naught],
    [digit, digits],
  ],
  [[point, dot], [exponent, mark], ...ends],
  [[zero, digits], [digit, digits], [point, dot], [exponent, mark], ...ends],
  [
    [zero, fraction],
    [digit, fraction],
  ],
  [[zero, fraction], [digit, fraction], [exponent, mark], ...ends],
  [
    [plus, rise],
    [minus, drop],
    [zero, power],
    [digit, power],
  ],
  [
    [zero, power],
    [digit, power],
  ],
  [[zero, power], [digit, power], ...ends],
  [
    [zero, fall],
    [digit, fall],
  ],
  [[zero, fall], [digit, fall], ...ends],
  ends,
]
const next = new Uint8Array(steps.length * classes).fill(failed)
for (const [state, moves] of steps.entries()) for (const [on, to] of moves) next[state * classes + on] = to

/** A float64 has at most so many digits before its point; more may be infinite. */
const mostDigits = 300

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

export class NumberArray {
  #state = begin
  #count = 1
  #numberBytes = 0
  /** Whether a number may be too large for a float64. */
  mayBeInfinite = false

  /** The count of numbers, after the end. */
  get count(): number {
    return this.#count
  }

  get isDone(): boolean {
    return this.#state === done
  }

  get hasFailed(): boolean {
    return this.#state === failed
  }

  /**
   * Takes bytes after the opening bracket.
   * @returns the position of the next byte that is not taken: after the end, or at a failure
   */
  take(bytes: Uint8Array, from: number): number {
    let state = this.#state
    let at = from
    let beganAt = from - this.#numberBytes
    for (; at < bytes.length && state < done; at++) {
      let byte = bytes[at] ?? 0
      // Most bytes are digits after digits.
      if (state === fraction || state === digits) {
        while (isDigit(byte) && ++at < bytes.length) byte = bytes[at] ?? 0
        if (at === bytes.length) break
      }
      const found = classOf[byte] ?? other
      state = next[state * classes + found] ?? failed
      if (state === power) this.mayBeInfinite = true
      if (found !== comma) continue
      this.#count++
      this.#look(at - beganAt)
      beganAt = at + 1
    }
    this.#state = state
    this.#numberBytes = at - beganAt
    this.#look(this.#numberBytes)
    return state === failed ? at - 1 : at
  }

  #look(numberBytes: number): void {
    if (numberBytes > mostDigits) this.mayBeInfinite = true
  }
}
