/** Whether bytes that came in parts include a mark, also one that is cut between two parts. */
export const partsInclude = (parts: ReadonlyArray<Uint8Array>, marks: ReadonlyArray<string>): boolean => {
  const [first] = parts
  if (first === undefined) return false
  if (parts.length > 1) return marks.some((mark) => seamsInclude(parts, mark))
  const bytes = bufferOf(first)
  return marks.some((mark) => bytes.includes(mark))
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

const seamsInclude = (parts: ReadonlyArray<Uint8Array>, mark: string): boolean => {
  const seam = mark.length - 1
  let end = Buffer.alloc(0)
  return parts.some((part) => {
    const bytes = bufferOf(part)
    if (bytes.includes(mark) || Buffer.concat([end, bytes.subarray(0, seam)]).includes(mark)) return true
    end = Buffer.concat([end, bytes.subarray(-seam)]).subarray(-seam)
    return false
  })
}
