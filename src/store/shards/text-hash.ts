/**
 * PostgreSQL's hash of a text (`hashtext`), by which Citus places rows: Bob Jenkins' lookup3 with PostgreSQL's seed.
 * Source: src/common/hashfn.c, `hash_bytes`.
 */

/** @returns a signed integer of 32 bits, as PostgreSQL has it */
export const textHash = (text: string): number => {
  const bytes = Buffer.from(text, "utf8")
  const { length } = bytes
  const state = new Uint32Array(3).fill(0x9e3779b9 + length + 3923095)
  let at = 0
  for (; length - at >= 12; at += 12) {
    for (let word = 0; word < 3; word++) add(state, word, bytes.readUInt32LE(at + 4 * word))
    mix(state)
  }
  for (let rest = at; rest < length; rest++) {
    const place = rest - at
    // The lowest byte of the last word is the length's.
    const shift = place < 8 ? 8 * (place % 4) : 8 * (place - 7)
    add(state, place >> 2, (bytes[rest] ?? 0) << shift)
  }
  finish(state)
  return (state[2] ?? 0) | 0
}

const add = (state: Uint32Array, word: number, value: number): void => {
  state[word] = (state[word] ?? 0) + value
}

const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

/**
 * A step of the mixing: the word that changes, the word that changes it, the rotation of that, and the word that it is added
 * to.
 */
const mixing = [
  [0, 2, 4, 1],
  [1, 0, 6, 2],
  [2, 1, 8, 0],
  [0, 2, 16, 1],
  [1, 0, 19, 2],
  [2, 1, 4, 0],
] as const

const mix = (state: Uint32Array): void => {
  for (const [word, by, bits, next] of mixing) {
    const other = state[by] ?? 0
    state[word] = ((state[word] ?? 0) - other) ^ rotated(other, bits)
    add(state, by, state[next] ?? 0)
  }
}

const finishing = [
  [2, 1, 14],
  [0, 2, 11],
  [1, 0, 25],
  [2, 1, 16],
  [0, 2, 4],
  [1, 0, 14],
  [2, 1, 24],
] as const

const finish = (state: Uint32Array): void => {
  for (const [word, by, bits] of finishing) {
    const other = state[by] ?? 0
    state[word] = ((state[word] ?? 0) ^ other) - rotated(other, bits)
  }
}
