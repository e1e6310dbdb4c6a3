/**
 * The model as its maker names it, which decides what it supports: an operator's name of a deployment or an endpoint does not
 * show the model, and routers put a publisher before the name, e.g. `openai/gpt-image-1`.
 */
export const makersName = ({
  model,
  family = model,
}: {
  readonly model: string
  readonly family?: string | undefined
}) => family.slice(family.lastIndexOf("/") + 1)
