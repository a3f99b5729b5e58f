import { CaissonError, type SignalName, signalNumbers } from '@caisson/contract';

/** `SIGTERM`, `term`, `15` → what the API takes. */
export function parseSignal(text: string): SignalName | number {
  if (/^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= 64) return Number(text);
  const name = `SIG${text.toUpperCase().replace(/^SIG/, '')}`;
  if (Object.hasOwn(signalNumbers, name)) return name as SignalName;
  throw new CaissonError('request_invalid', `${JSON.stringify(text)} is no signal`, {
    hint: 'Write it as SIGTERM, TERM or 15.',
  });
}
