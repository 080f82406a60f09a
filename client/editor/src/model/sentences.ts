// Turns texts from the server and other parts into sentences.

/**
 * Returns `text` as a sentence that ends with a period. Capitalizes it unless it begins with a file
 * name.
 */
export function as_sentence(text: string): string {
  const subject = /^(.*?): /s.exec(text)?.[1] ?? text.split(' ')[0];
  const is_name = /[./\\#\d]/.test(subject);
  return (is_name ? text : text.slice(0, 1).toUpperCase() + text.slice(1)) + (/[.!?]$/.test(text) ? '' : '.');
}
