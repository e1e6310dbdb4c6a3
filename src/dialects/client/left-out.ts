/**
 * Fields about how much a model looks, works and shows, which not every vendor has: a target without them answers
 * nevertheless, and the client gets a warning that names those that were left out.
 */
import { type Cacheable, everyBlock } from "../../protocol/block.ts"
import type { HasWords, VendorRequest } from "../chat-dialect.ts"

/** The fields of a request that its target lacks; undefined if there are none. */
export const leftOut = (request: VendorRequest, has: HasWords): ReadonlyArray<string> | undefined => {
  const { thread, effort, reasoningDisplay } = request
  const unmarked = unmarkedIn(request, has.marks)
  const isDetailed = !has.detail && everyBlock(thread).some((block) => block.t === "image" && isAsked(block.detail))
  const isHidden = reasoningDisplay === "omitted"
  if (!isDetailed && effort === undefined && !isHidden && unmarked.length === 0) return undefined
  return [
    ...(isDetailed ? ["image.detail"] : []),
    ...(effort !== undefined && !has.effort ? ["effort"] : []),
    ...(isHidden && !has.display ? ["reasoningDisplay"] : []),
    ...unmarked,
  ]
}

const isAsked = (detail: string | undefined): boolean => detail !== undefined && detail !== "auto"

/** The kinds of cache marks that the target cannot have at their position. */
const unmarkedIn = ({ thread, tools, cache }: VendorRequest, marks: HasWords["marks"]): ReadonlyArray<string> => {
  if (marks === "everywhere" || !cache.enabled) return []
  const kinds = new Set<string>()
  if (tools.some(isMarked)) kinds.add("tool")
  if (marks !== "blocks")
    for (const { blocks } of thread)
      for (const block of blocks) {
        const hasWord = marks === "texts" && (block.t === "text" || block.t === "tool_result")
        if (!hasWord && "cacheable" in block && isMarked(block)) kinds.add(block.t)
      }
  return Array.from(kinds, (kind) => `${kind}.cacheable`)
}

const isMarked = ({ cacheable = false }: { readonly cacheable?: Cacheable }): boolean => cacheable !== false
