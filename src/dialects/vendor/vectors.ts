/** Vectors and ranks as vendors write them. Pure. */
import { isObject, type JsonObject, objectsAt } from "../parse/json.ts"
import { WrittenVector } from "../parse/written-vector.ts"
import type { Vector } from "../whole-dialect.ts"

const float32Bytes = 4
/** The bits of an exponent that no finite number has. */
const infinite = 0x7f800000

const isNumbers = (value: unknown): value is ReadonlyArray<number> => {
  if (!Array.isArray(value)) return false
  for (const each of value) if (typeof each !== "number" || !Number.isFinite(each)) return false
  return true
}

/** A vector that can be used; undefined for everything else. */
export const readVector = (value: unknown): Vector | undefined => {
  if (value instanceof WrittenVector) return value
  if (typeof value === "string") return decode(value) === undefined ? undefined : value
  return isNumbers(value) && value.length > 0 ? value : undefined
}

/** All of a list, or undefined if one cannot be used. */
export const readVectors = (values: unknown): ReadonlyArray<Vector> | undefined => {
  if (!Array.isArray(values)) return undefined
  const vectors: Array<Vector> = []
  for (const value of values) {
    const vector = readVector(value)
    if (vector === undefined) return undefined
    vectors.push(vector)
  }
  return vectors
}

/** A buffer in which base64 is decoded for checks: a vector that is only forwarded is not copied. */
let room = new Uint32Array(4096)
let roomBytes = Buffer.from(room.buffer)

/**
 * The count of numbers in base64 of little-endian float32, which {@link room} then contains; undefined if it is none, or if
 * one is not finite. Machines that run Node are little-endian.
 */
const decode = (text: string): number | undefined => {
  // Other characters are skipped: then there are fewer bytes than the text's length says.
  const length = Buffer.byteLength(text, "base64")
  if (length === 0 || length % float32Bytes !== 0 || text.length % 4 !== 0) return undefined
  if (length > roomBytes.length) {
    room = new Uint32Array(length / float32Bytes)
    roomBytes = Buffer.from(room.buffer)
  }
  if (roomBytes.write(text, 0, "base64") !== length) return undefined
  const count = length / float32Bytes
  for (let at = 0; at < count; at++) if (((room[at] ?? 0) & infinite) === infinite) return undefined
  return count
}

const floatsIn = (text: string): ArrayLike<number> => new Float32Array(room.buffer, 0, decode(text) ?? 0)

export const dimensionsOf = (vector: Vector): number => {
  if (vector instanceof WrittenVector) return vector.dimensions
  return typeof vector === "string" ? Buffer.byteLength(vector, "base64") / float32Bytes : vector.length
}

/** A vector whose numbers can be read; undefined if the text is none. */
const readWritten = (vector: Vector): ReadonlyArray<number> | string => {
  if (!(vector instanceof WrittenVector)) return vector
  const read = readVector(vector.toJSON())
  return read === undefined || read instanceof WrittenVector ? [] : read
}

export const toBase64 = (given: Vector): string => {
  const vector = readWritten(given)
  if (typeof vector === "string") return vector
  const bytes = Buffer.allocUnsafe(vector.length * float32Bytes)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * float32Bytes)
  return bytes.toString("base64")
}

/** Numbers that are the same float32, as short as that allows. */
export const toNumbers = (given: Vector): ReadonlyArray<number> => {
  const vector = readWritten(given)
  return typeof vector === "string" ? Array.from(floatsIn(vector), shortest) : vector
}

/** A float32 has at most nine significant digits. */
const shortest = (value: number): number => {
  for (const digits of [7, 8]) {
    const shorter = Number(value.toPrecision(digits))
    if (Math.fround(shorter) === value) return shorter
  }
  return Number(value.toPrecision(9))
}

/** Entries of a list in the order of their `index`; undefined if one is missing or there twice. */
export const inOrder = (body: JsonObject, key: string, count: number): ReadonlyArray<JsonObject> | undefined => {
  const items = objectsAt(body, key)
  if (items.length !== count) return undefined
  if (items.every((item, at) => (item["index"] ?? at) === at)) return items
  const ordered: Array<JsonObject | undefined> = Array.from({ length: count })
  for (const [at, item] of items.entries()) {
    const index = item["index"] ?? at
    if (!isIndex(index, count) || ordered[index] !== undefined) return undefined
    ordered[index] = item
  }
  return ordered.every(isObject) ? ordered : undefined
}

export const isIndex = (value: unknown, count: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count
