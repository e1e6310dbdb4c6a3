/** Results of calls, as large as the hold of their exchange allows for one round. Pure. */
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { ToolResultBlock } from "../../protocol/block.ts"

/** Bytes of the results of one round that a model reads; the rest is cut off. */
const mostBytes = 48 * 1024
/** Pictures, files and sounds of one round. */
const mostMedia = 4
const tokensOfMedia = 1600

/** The most tokens that the results of one round add to a prompt. */
export const tokensOfRound = tokensOfBytes(mostBytes) + mostMedia * tokensOfMedia

/** The results, each with its part of the room. */
export const withinRound = (results: ReadonlyArray<ToolResultBlock>): ReadonlyArray<ToolResultBlock> => {
  const share = Math.floor(mostBytes / Math.max(1, results.length))
  let media = 0
  return results.map((result) => {
    if (result.blocks === undefined) return { ...result, v: cutTo(result.v ?? "", share) }
    let left = share
    const blocks = result.blocks.map((block): (typeof result.blocks)[number] => {
      if (block.t === "text") {
        const v = cutTo(block.v, left)
        left = Math.max(0, left - Buffer.byteLength(v))
        return { t: "text", v }
      }
      media++
      const isLong = block.data === undefined || (block.t !== "image" && block.data.length > mostFileBytes)
      return media > mostMedia || isLong ? { t: "text", v: `[${block.t} left out]` } : block
    })
    return { ...result, blocks }
  })
}

/** A file or a sound of this length has about as many tokens as a picture. */
const mostFileBytes = 16 * 1024

const cutTo = (text: string, bytes: number): string => {
  const length = Buffer.byteLength(text)
  if (length <= bytes) return text
  const kept = Buffer.from(text).subarray(0, bytes).toString("utf8").replace(/�$/, "")
  return `${kept}\n[cut off: the result has ${length} bytes]`
}
