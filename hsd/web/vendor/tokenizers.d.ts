// What the page uses of Hugging Face's tokenizers.

export class Tokenizer {
  constructor(tokenizer: object, config: object);
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[], options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean }): string;
  id_to_token(id: number): string;
  decoder: { byte_decoder: Record<string, string | undefined> };
}
