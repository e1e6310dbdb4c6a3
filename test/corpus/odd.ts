/** Recordings that are not complete replies, because of the vendor or the recorder, and their expected outcome. */
import type { Folded } from "../support/replay.ts"

export const odd: Readonly<Record<string, Partial<Folded>>> = {
  // The vendor refused in the middle of a stream.
  "vercel-ai__openai-error.1.stream.json": { faults: ["insufficient_quota", "insufficient_quota"] },
  "pydantic-ai__test_groq.test_tool_use_failed_error_streaming_with_text.0.json": { faults: ["tool_use_failed"] },
  "pydantic-ai__test_openrouter.test_openrouter_stream_error.0.json": { faults: ["unknown"] },
  // Two frames lack their closing brace.
  "vercel-ai__parallel-tool-call-wrapper.1.stream.json": { faults: ["malformed_reply", "malformed_reply"] },
}
