// A NATS server may say anything, and a Secret may hold anything.
#include "fuzz_input.h"
#include "sinks/nats/nkey.h"
#include "sinks/nats/options.h"
#include "sinks/nats/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  using namespace kollect::sinks::nats;
  const std::string_view input = fuzz::text_of(data, size);
  std::size_t at = 0;
  while (true) {
    const std::size_t before = at;
    const auto said = read_said(input, at);
    fuzz::require(at <= input.size(), "nothing is read behind the end");
    if (!said) {
      fuzz::require(at == before, "what is not complete stays");
      break;
    }
    if (said->what == Said::What::kGarbled) break;
    fuzz::require(at > before, "what was understood is passed");
  }
  const base::Secret secret{std::string(input)};
  if (const auto key = NKey::from_seed(secret)) {
    fuzz::require(key->sign("nonce").has_value(), "a key signs");
  }
  (void)read_credentials(secret);
  Login login;
  (void)read_servers(input, login);
  return 0;
}
