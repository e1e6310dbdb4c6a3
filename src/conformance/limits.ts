/** Checks of tags, and of the headers with the rates of a caller. */
import { ExchangeResponse } from "../protocol/exchange.ts"
import { decode, expectError, expectThat, type Group, type Probe, type Reply } from "./probe.ts"

const path = "/t1/exchange"
const nineTags = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`tag${at}`, "a"]))

/** @param tags the header with tags; none if it is undefined */
const chatCompletion = (probe: Probe, tags?: string): Promise<Reply> => {
  const { keyId, key, model } = probe.deployment
  const body = { model, max_tokens: 64, messages: [{ role: "user", content: "Answer with one word: river" }] }
  const authorization = `Bearer ${keyId}~${key}`
  const headers = { authorization, "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-tags": tags }
  return probe.send("/openai/v1/chat/completions", { body, headers })
}

export const limitChecks: Group = {
  section: "Limits and tags",
  checks: [
    {
      name: "tags are accepted, malformed ones are refused",
      run: async (probe) => {
        const tagged = (tags: object) => probe.send(path, { body: probe.ask({ meta: { tags } }) })
        decode(await tagged({ conformance: "yes" }), ExchangeResponse)
        for (const tags of [{ "No Name": "a" }, { name: "" }, { name: 1 }, { name: "a".repeat(65) }, nineTags]) {
          expectError(await tagged(tags), "bad_request")
        }
      },
    },
    {
      name: "tags in the header of a compatible route are accepted, malformed ones are refused",
      run: async (probe) => {
        for (const tags of ["conformance=yes", "conformance=yes, feature=a%20b"]) {
          const { status, text } = await chatCompletion(probe, tags)
          expectThat(status === 200, `status ${status} for ${tags}: ${text.slice(0, 200)}`)
        }
        for (const tags of ["name", "No Name=a", `name=${"a".repeat(65)}`]) {
          const { status } = await chatCompletion(probe, tags)
          expectThat(status === 400, `status ${status} for ${tags}`)
        }
      },
    },
    {
      name: "a rate in the headers of a reply has its limit, its rest and its time",
      run: async (probe) => {
        const reply = await chatCompletion(probe)
        expectThat(reply.status === 200, `status ${reply.status}: ${reply.text.slice(0, 200)}`)
        const rates = ["requests", "tokens"].filter((unit) => reply.headers.has(`x-ratelimit-limit-${unit}`))
        for (const unit of rates) {
          const [limit = "", remaining = "", reset = ""] = ["limit", "remaining", "reset"].map(
            (part) => reply.headers.get(`x-ratelimit-${part}-${unit}`) ?? "",
          )
          expectThat(/^\d+$/.test(limit) && /^\d+$/.test(remaining), `${unit}: ${remaining} of ${limit}`)
          expectThat(Number(remaining) <= Number(limit), `${unit}: ${remaining} of ${limit} remain`)
          expectThat(/^(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?$/.test(reset) && reset !== "", `${unit}: reset "${reset}"`)
        }
        return rates.length === 0 ? "the key has no rates" : rates.join(", ")
      },
    },
  ],
}
