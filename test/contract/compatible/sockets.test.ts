/** OpenAI's SDK for Python over sockets, unchanged. SVC_TEST_PYTHON is an interpreter that has `openai[realtime]`. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { answeringRealtime, realtimeUsage } from "../../../src/testing/scripted-realtime.ts"
import { startRealtimeGateway } from "../../support/realtime-gateway.ts"
import { python, runPython } from "./run-python.ts"

const spoken = { words: ["Hello", " there"], audioBytes: 960, parts: 2, usage: realtimeUsage(10, 20, 5, 40) }

describe.skipIf(python === undefined)("OpenAI's SDK for Python", () => {
  it.live("speaks, and goes on from a response", () =>
    Effect.scoped(
      Effect.flatMap(startRealtimeGateway(answeringRealtime(spoken)), ({ gateway, records }) =>
        Effect.promise(async () => {
          const env = { BASE_URL: gateway.baseUrl, API_KEY: `${gateway.keyId}~${gateway.key}` }
          const { code, out, errors } = await runPython("sockets.py", env)
          expect(code, errors).toBe(0)
          expect(out).toContain("8 checks")
          await expect.poll(async () => (await records()).length).toBe(3)
        }),
      ),
    ),
  )
})
