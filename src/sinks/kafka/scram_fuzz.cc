// A broker may answer anything while we log in.
#include "fuzz_input.h"
#include "sinks/kafka/fields.h"
#include "sinks/kafka/scram.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  using namespace kollect::sinks::kafka;
  const std::string_view input = fuzz::text_of(data, size);
  Fields fields(input);
  (void)fields.number(2);
  const auto words = fields.bytes(2);
  const auto message = fields.bytes(4);
  fuzz::require(words.size() + message.size() <= input.size(), "nothing is made up");
  Scram scram("SCRAM-SHA-256", "user", base::Secret("pencil"), "rOprNGfwEbeRWgbNEkqO");
  const auto last = scram.final(input);
  fuzz::require(!last || last->starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO"), "our nonce is first");
  fuzz::require(last || !scram.check(input), "nobody is believed without a conversation");
  return 0;
}
