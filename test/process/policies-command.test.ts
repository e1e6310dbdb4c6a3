/** `weir policies` against a running gateway. */
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { text as streamText } from "node:stream/consumers"
import { expect, it } from "vitest"
import { useCommands } from "../support/use-commands.ts"

const { serve, dir } = useCommands()

const catalogue = `version: 1
vendors:
  - { id: openai, dialect: openai-responses, baseUrl: "https://openai.test/v1", credential: "env:SET_HERE" }
models:
  - { handle: main, contextWindow: 128000, targets: [{ vendor: openai, model: gpt }] }
policies:
  - { id: personal, direction: both, match: { entities: [email, card, iban, ssn, { name: EMPLOYEE, regex: "E-[0-9]{6}" }] }, reason: personal_data, action: mask }
  - { id: keys, direction: both, match: { entities: [secret] }, reason: secret_material, streams: enforce }
  - { id: words, direction: inbound, match: { keywords: [classified] }, reason: leak, forAll: true }
  - { id: guarded, direction: inbound, match: { engine: { kind: presidio, baseUrl: "http://127.0.0.1:9" } }, reason: leak, onFailure: allow, price: { currency: USD, perCall: "0.001", perThousandCharacters: "0.02" }, paidBy: organisation }
orgs:
  - { id: acme, name: Acme, currency: USD, models: [main], policies: [personal] }
`

it("lists policies, and tries a text against those in force", async () => {
  const { run, ready } = await serve({ SET_HERE: "x" })
  expect((await run("policies", "list")).text).toBe("No policies yet. Add them to the catalogue, under policies\n")
  const file = join(dir(), "weir.yaml")
  writeFileSync(file, catalogue)
  expect((await run("apply", file)).text).toContain(
    "policies/keys: its matches have no longest length; a stream waits from where one begins",
  )
  const lines = (await run("policies", "list")).text.split("\n")
  expect(lines[0]).toMatch(/^POLICY +DIRECTION +MATCH +ACTION +STREAMS +TEXT WAITS +PRICE +NAMED BY +PROBLEM$/)
  expect(lines[1]).toMatch(
    /^personal +both +entities: email, card, iban, ssn, EMPLOYEE +mask +enforce +at most 409 characters +organisation acme$/,
  )
  expect(lines[2]).toMatch(/^keys +both +entities: secret +deny +enforce +from where a match begins +nobody$/)
  expect(lines[3]).toMatch(/^words +inbound +keywords: classified +deny +everyone$/)
  expect(lines[4]).toMatch(
    /^guarded +inbound .* USD 0\.001 a call and 0\.02 a thousand characters, paid by the organisation +nobody$/,
  )

  const text = join(dir(), "prompt.txt")
  writeFileSync(text, "Write to ada@example.com, classified\n")
  const tried = (await run("policies", "test", text, "--org", "acme")).text.split("\n")
  expect(tried[0]).toMatch(/^POLICY +DIRECTION +ACTION +DID +PLACE +LABEL +FOUND$/)
  expect(tried[1]).toMatch(/^words +inbound +deny +denied +\d+-\d+ +MASKED +classified$/)
  expect(tried[2]).toMatch(/^personal +inbound +mask +masked +9-24 +EMAIL +ada@example\.com$/)
  expect(tried.slice(3).join("\n")).toMatch(/^\nMasked:\nWrite to <EMAIL_[A-Z2-7]{5}>, classified\n$/)
  expect((await run("policies", "test", text, "--policy", "guarded")).text).toContain(
    "presidio gave no verdict (unreachable): a call would be allowed",
  )
  const reply = JSON.parse((await run("policies", "test", text, "--policy", "words", "--json")).text)
  expect(reply.policies).toEqual([expect.objectContaining({ did: "denied", count: 1 })])
  expect((await run("policies", "test", text, "--org", "acme", "--direction", "outbound")).text).toMatch(
    /\npersonal +outbound +mask +masked /,
  )

  const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
    [[join(dir(), "none.txt")], `${join(dir(), "none.txt")} cannot be read: ENOENT: no such file or directory`],
    [[text, "--org", "nobody"], "not_found: The organisation does not exist\n"],
    [[text, "--policy", "none"], "not_found: The catalogue has no such policy\n"],
    [[text, "--direction", "up"], ""],
  ]
  for (const [args, message] of refusals) {
    const refused = await run("policies", "test", ...args)
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining(message) })
  }
  writeFileSync(text, "")
  expect((await run("policies", "test", text)).text).toBe(`${text} is empty: a text to try is required\n`)
  writeFileSync(text, Buffer.from([0xff, 0xfe, 0x80]))
  expect((await run("policies", "test", text)).text).toBe(`${text} is not text in UTF-8\n`)
  writeFileSync(text, "a".repeat(262_145))
  expect((await run("policies", "test", text)).text).toBe(
    `${text} has 262145 characters, and 262144 can be tried at once\n`,
  )

  // The gateway is in this process: it must not wait for the command.
  const started = spawn(process.execPath, ["src/main.ts", "policies", "test", "-"], {
    env: { ...process.env, SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey },
  })
  started.stdin.end("It is classified")
  expect(await streamText(started.stdout)).toMatch(/\nwords +inbound +deny +denied +6-16 +MASKED +classified\n/)
})
