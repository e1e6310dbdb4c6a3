import { expect, it } from "vitest"
import { readChallenge } from "../../../../src/tools/oauth/challenge.ts"

const none = { resourceMetadata: undefined, scopes: undefined, error: undefined }

it.each([
  [undefined, none],
  ["Bearer", none],
  ['Basic realm="a, b"', none],
  ['Bearer scope="a b a"', { ...none, scopes: ["a", "b"] }],
  ['Bearer error="insufficient_scope",\n scope=read', { ...none, error: "insufficient_scope", scopes: ["read"] }],
  [
    'Basic realm="x", bearer resource_metadata="https://a.example/m"',
    { ...none, resourceMetadata: "https://a.example/m" },
  ],
  ['Bearer scope="a\\"b c", Digest scope="no"', { ...none, scopes: ["c"] }],
  [`Bearer scope="${"x".repeat(9000)}"`, none],
])("reads %s", (header, challenge) => {
  expect(readChallenge(header)).toEqual(challenge)
})
