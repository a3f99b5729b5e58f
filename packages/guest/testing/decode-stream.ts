import { decodeMessage } from '../src/protocol/decode-message.ts';
import type { MessageDef } from '../src/protocol/field.ts';
import { type Frame, readCredit } from '../src/protocol/frame.ts';
import { FrameDecoder } from '../src/protocol/frame-decoder.ts';
import { limits } from '../src/protocol/limits.ts';
import { connectionMessages } from '../src/protocol/messages.ts';
import { allMessages, methodNameOf, methods } from '../src/protocol/methods.ts';

/** Decodes as deep as bytes alone allow: frames, their messages, the parameters of a known method. */
export function decodeDeep({ type, payload }: Frame): void {
  if (type === 'window') readCredit(payload);
  if (type === 'result') decodeMessage(allMessages.get('exit_status') as MessageDef, payload);
  if (!(type in connectionMessages)) return;
  const value = decodeMessage(connectionMessages[type as keyof typeof connectionMessages] as MessageDef, payload);
  if (type !== 'open') return;
  const { method, params } = value as { method: number; params: Uint8Array };
  const name = methodNameOf(method);
  if (name !== undefined) decodeMessage(methods[name].params as MessageDef, params);
}

export function decodeChunks(chunks: readonly Uint8Array[], payloadMax: number = limits.payloadMax): Frame[] {
  const frames: Frame[] = [];
  const decoder = new FrameDecoder(payloadMax);
  for (const chunk of chunks) decoder.push(chunk, (frame) => frames.push(frame));
  decoder.finish();
  return frames;
}
