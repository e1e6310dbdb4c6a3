/**
 * The model as its maker names it, by which its words are known: what an operator calls a deployment or an endpoint says
 * nothing, and routers put a publisher before the name, e.g. `openai/gpt-image-1`.
 */
export const makersName = ({
  model,
  family = model,
}: {
  readonly model: string
  readonly family?: string | undefined
}) => family.slice(family.lastIndexOf("/") + 1)
