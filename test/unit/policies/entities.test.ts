/** The entities that policies know: texts that have one, and texts that look like one. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { foundIn } from "../../../src/policies/text/window.ts"
import type { EntityName } from "../../../src/protocol/catalogue/policy.ts"
import { mintSecret } from "../../../src/secrets.ts"

const setOf = (entity: EntityName) => {
  const policy = { id: "p", direction: "inbound", reason: "no", match: { entities: [entity] } } as const
  const { check } = Result.getOrThrow(compilePolicy(policy, () => undefined))
  if (check.kind !== "rules") throw new Error("rules were meant")
  return check.set
}

/** The entities in a text, which are the same in all cuts of it. */
const find = (entity: EntityName, text: string): ReadonlyArray<string> => {
  const set = setOf(entity)
  const whole = foundIn(set, [text]).map((found) => found.text)
  for (const length of [1, 3, 7]) {
    const pieces = text.match(new RegExp(`[^]{1,${length}}`, "g")) ?? []
    expect(foundIn(set, pieces).map((found) => found.text)).toEqual(whole)
  }
  return whole
}

describe("an entity", () => {
  const awsSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
  const own = mintSecret("wk")
  it.each<[EntityName, string]>([
    ["card", "4111 1111 1111 1111"],
    ["card", "4111-1111-1111-1111"],
    ["card", "4111\u00a01111\u00a01111\u00a01111"],
    ["card", "3782\u202f822463\u202f10005"],
    ["card", "４１１１１１１１１１１１１１１１"],
    ["card", "４１１１　１１１１　１１１１　１１１１"],
    ["iban", "CH93\u00a00076\u00a02011\u00a06238\u00a05295\u00a07"],
    ["email", "ada@example.com"],
    ["email", "ada＠example.com"],
    ["email", "jörg@müller.de"],
    ["email", "jo\u0308rg@mu\u0308ller.de"],
    ["email", "иван@пример.рф"],
    ["email", "info@例子.中国"],
    ["phone", "+41 44 668 18 00"],
    ["phone", "(212) 555-0100"],
    ["phone", "030 123456"],
    ["phone", "0041 44 668 18 00"],
    ["phone", "044 668 18 00"],
    ["ip", "10.0.0.7"],
    ["ip", "2001:db8::8a2e:370:7334"],
    ["secret", `aws_secret_access_key = ${awsSecret}`],
    ["secret", `AWS_SECRET_ACCESS_KEY=${awsSecret}`],
    ["secret", `SecretAccessKey": "${awsSecret}`],
    ["secret", own],
  ])("%s is found: %s", (entity, text) => {
    expect(find(entity, `It is ${text}, or not.`)).toEqual([text])
    expect(find(entity, text)).toEqual([text])
  })

  it.each<[EntityName, string]>([
    ["card", "4111 1111 1111 1112"],
    ["card", "４１１１１１１１１１１１１１１２"],
    ["email", "ada@example"],
    ["email", "@example.com"],
    ["phone", "price 1 000 000 000"],
    ["phone", "000 000 000"],
    ["ip", "1.2.3.4.5"],
    ["ip", "version 12.1.2.3.4.5, and 1.2.3"],
    ["ip", "256.1.1.1"],
    ["secret", "aws_secret_access_key = env:SECRET"],
    ["secret", "wk_short"],
  ])("%s is not found: %s", (entity, text) => {
    expect(find(entity, text)).toEqual([])
  })

  it("is found beside writing without spaces", () => {
    expect(find("email", "联系ada@example.com谢谢")).toEqual(["ada@example.com"])
    expect(find("ip", "1.2.3.4.5 and 10.0.0.7.")).toEqual(["10.0.0.7"])
  })
})
