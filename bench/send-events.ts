const stepMs = 10;

export interface SendPlan {
  readonly perSecond: number;
  readonly seconds: number;
}

/** Evenly over the seconds, and as many as were asked for: what is late is sent with the next. Answers how many. */
export async function sendEvents(
  { perSecond, seconds }: SendPlan,
  send: (n: number) => Promise<void>,
): Promise<number> {
  const began = performance.now();
  const sending: Promise<void>[] = [];
  while (sending.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, ((performance.now() - began) * perSecond) / 1000);
    while (sending.length < due) sending.push(send(sending.length));
    await new Promise((resolve) => setTimeout(resolve, stepMs));
  }
  await Promise.all(sending);
  return sending.length;
}
