#include "sinks/kafka/dialer.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstring>

namespace kollect::sinks::kafka {

namespace {

/// One element of the list that the library gets: the address lives beside it.
struct Element {
  addrinfo info{};
  sockaddr_storage address{};
};

std::unique_ptr<Element> element_of(const std::string& number, const char* service) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(number.c_str(), service, &hints, &list) != 0) return nullptr;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  auto out = std::make_unique<Element>();
  out->info = *list;
  out->info.ai_next = nullptr;
  out->info.ai_canonname = nullptr;
  std::memcpy(&out->address, list->ai_addr, list->ai_addrlen);
  out->info.ai_addr = reinterpret_cast<sockaddr*>(&out->address);
  return out;
}

}  // namespace

base::Result<std::vector<std::string>> Dialer::addresses(const std::string& host) const {
  const auto refuse = [&](const std::string& why) {
    return base::denied(fmt::format("kafka: the broker address {} is not allowed: {}", host, why),
                        "address-refused");
  };
  if (guard_ != nullptr) {
    if (const auto why = guard_->refuse_host(host)) return refuse(*why);
  }
  std::vector<std::string> numbers = {host};
  if (!base::is_numeric_address(host)) {
    KL_ASSIGN(numbers, resolver_ ? resolver_(host) : base::resolve_host(host));
  }
  for (const auto& number : numbers) {
    if (guard_ == nullptr) break;
    if (const auto why = guard_->refuse_address(number)) return refuse(*why);
  }
  return numbers;
}

int Dialer::resolve(const char* host, const char* service, addrinfo** list) {
  const auto numbers = addresses(host);
  if (!numbers) {
    if (numbers.error().kind != base::ErrorKind::kDenied) return EAI_AGAIN;
    const std::scoped_lock lock(mutex_);
    refusal_ = numbers.error();
    return EAI_FAIL;
  }
  addrinfo* first = nullptr;
  for (auto number = numbers->rbegin(); number != numbers->rend(); ++number) {
    auto element = element_of(*number, service);
    if (element == nullptr) continue;
    element->info.ai_next = first;
    first = &element.release()->info;  // release() takes it back
  }
  *list = first;
  return first == nullptr ? EAI_NONAME : 0;
}

void Dialer::release(addrinfo* list) {
  while (list != nullptr) {
    // The info is the first member.
    const std::unique_ptr<Element> element(reinterpret_cast<Element*>(list));
    list = element->info.ai_next;
  }
}

std::optional<base::Error> Dialer::refusal() const {
  const std::scoped_lock lock(mutex_);
  return refusal_;
}

}  // namespace kollect::sinks::kafka
