// Sentences that the page makes of what the server and other parts say.

/** Returns `text` as a sentence, which ends with a full stop. It begins with a capital, unless with
 *  the name of a file. */
export function as_sentence(text: string): string {
  const subject = /^(.*?): /s.exec(text)?.[1] ?? text.split(' ')[0];
  const is_name = /[./\\#\d]/.test(subject);
  return (is_name ? text : text.slice(0, 1).toUpperCase() + text.slice(1)) + (/[.!?]$/.test(text) ? '' : '.');
}
