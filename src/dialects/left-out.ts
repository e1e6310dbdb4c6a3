/**
 * Words that say how much a model looks, does and shows, which not every vendor has: a target without them answers all the same,
 * and the client is told which it did not get.
 */
import { everyBlock } from "../protocol/block.ts"
import type { HasWords, VendorRequest } from "./dialect.ts"

/** The words of a request that its target lacks; undefined if it has none of them. */
export const leftOut = (request: VendorRequest, has: HasWords): ReadonlyArray<string> | undefined => {
  const { thread, effort, reasoningDisplay } = request
  const isDetailed = !has.detail && everyBlock(thread).some((block) => block.t === "image" && isAsked(block.detail))
  const isHidden = reasoningDisplay === "omitted"
  if (!isDetailed && effort === undefined && !isHidden) return undefined
  return [
    ...(isDetailed ? ["image.detail"] : []),
    ...(effort !== undefined && !has.effort ? ["effort"] : []),
    ...(isHidden && !has.display ? ["reasoningDisplay"] : []),
  ]
}

const isAsked = (detail: string | undefined): boolean => detail !== undefined && detail !== "auto"
