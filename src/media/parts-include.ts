/** Whether bytes that came in parts include a mark, also one that is cut between two parts. */
export const partsInclude = (parts: ReadonlyArray<Uint8Array>, marks: ReadonlyArray<string>): boolean =>
  marks.some((mark) => {
    let end = Buffer.alloc(0)
    return parts.some((part) => {
      const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
      if (bytes.includes(mark)) return true
      const seam = Buffer.concat([end, bytes.subarray(0, mark.length - 1)])
      end = Buffer.concat([end, bytes.subarray(-(mark.length - 1))]).subarray(-(mark.length - 1))
      return seam.includes(mark)
    })
  })
