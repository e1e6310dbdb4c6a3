/** The counts that Anthropic reports for a message. Source: https://platform.claude.com/docs/en/api/messages */
import { missingSides, nonZero, type VendorUsage } from "../chat-dialect.ts"
import { countAt, type JsonObject, objectAt, objectsAt } from "../parse/json.ts"

/**
 * The counts of the message, and of a compaction, which the vendor bills beside it. An advisor is another model with a price
 * of its own: its tokens are observed alone.
 * https://platform.claude.com/docs/en/build-with-claude/compaction#understanding-usage
 * @param uses the uses of its tools in the reply's blocks: the vendor reports searches at the end, and runs of code never
 */
export function usageOf(
  report: JsonObject,
  uses: { readonly web_search: number; readonly code_execution: number },
): VendorUsage {
  const iterations = objectsAt(report, "iterations")
  const ofType = (type: string) => iterations.filter((iteration) => iteration["type"] === type).map(countsOf)
  const counted = [countsOf(report), ...ofType("compaction")].reduce(addUsage)
  const isReported = objectAt(report, "server_tool_use")?.["web_search_requests"] !== undefined
  const seen = nonZero(isReported ? { code_execution: uses.code_execution } : uses)
  const usage = { ...counted, dims: { ...counted.dims, ...seen } }
  const advice = ofType("advisor_message")
  if (advice.length === 0) return usage
  const { inTokens, cacheReadTokens, cacheWriteTokens, outTokens } = advice.reduce(addUsage)
  const observed = { obs_advisor_in: inTokens + cacheReadTokens + cacheWriteTokens, obs_advisor_out: outTokens }
  return { ...usage, dims: { ...usage.dims, ...nonZero(observed) } }
}

const addUsage = (one: VendorUsage, other: VendorUsage): VendorUsage => ({
  ...one,
  inTokens: one.inTokens + other.inTokens,
  outTokens: one.outTokens + other.outTokens,
  cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
  cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  dims: nonZero({
    ...one.dims,
    cache_write_1h: (one.dims["cache_write_1h"] ?? 0) + (other.dims["cache_write_1h"] ?? 0),
  }),
})

function countsOf(usage: JsonObject): VendorUsage {
  const cacheWriteTokens = countAt(usage, "cache_creation_input_tokens")
  const serverTools = objectAt(usage, "server_tool_use")
  // The total decides; a breakdown of an earlier event refines it and never exceeds it.
  const cacheWrite1h = Math.min(
    countAt(objectAt(usage, "cache_creation"), "ephemeral_1h_input_tokens"),
    cacheWriteTokens,
  )
  return {
    inTokens: countAt(usage, "input_tokens"),
    outTokens: countAt(usage, "output_tokens"),
    cacheReadTokens: countAt(usage, "cache_read_input_tokens"),
    cacheWriteTokens,
    dims: nonZero({
      reasoning: countAt(objectAt(usage, "output_tokens_details"), "thinking_tokens"),
      cache_write_1h: cacheWrite1h,
      web_search: countAt(serverTools, "web_search_requests"),
      obs_web_fetch: countAt(serverTools, "web_fetch_requests"),
    }),
    ...missingSides(usage, {
      input: { anyOf: ["input_tokens"], added: ["cache_read_input_tokens", "cache_creation_input_tokens"] },
      output: { anyOf: ["output_tokens"] },
    }),
  }
}
