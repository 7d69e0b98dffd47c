// Everything that reads objects: get, list, watch.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json/document.h"
#include "sandbox/call.h"
#include "sandbox/render.h"
#include "sandbox/selectors.h"
#include "sandbox/status.h"
#include "sandbox/store.h"

namespace kollect::sandbox {

/// Which objects a list or watch is about.
struct Filter {
  std::string prefix;  ///< of keys: the namespace, or everything
  std::string key;     ///< not empty: this one alone (metadata.name=...)
  LabelQuery labels;
  FieldQuery fields;

  static Outcome<Filter> of(const Call& call);
  [[nodiscard]] bool matches(const std::string& key, std::uint64_t rv, const Body& body) const;
  /// Every object under the prefix fits.
  [[nodiscard]] bool takes_all() const;
};

/// Where a paginated list goes on. Opaque to clients.
struct ContinueToken {
  std::int64_t rv = 0;  ///< -1: at whatever state there is
  std::uint64_t seen = 0;
  std::string next;

  [[nodiscard]] std::string to_text() const;
  static std::optional<ContinueToken> parse(std::string_view text);
};

struct ReaderOptions {
  base::Duration bookmark_interval = std::chrono::seconds(60);
  base::Duration watch_timeout = std::chrono::minutes(30);  ///< when the client names none
};

/// Thread-safe; all must outlive it and the answers.
class Reader {
 public:
  Reader(Store& store, const base::Clock& clock, ReaderOptions options)
      : store_(store), clock_(clock), options_(options) {}

  /// The object that a call names.
  [[nodiscard]] Outcome<Entry> entry(const Call& call) const;
  Outcome<http::Answer> get(const Call& call) const;
  Outcome<http::Answer> list(const Call& call) const;
  Outcome<http::Answer> watch(const Call& call) const;

 private:
  Outcome<http::Answer> list_page(const Call& call, const Filter& filter, std::uint64_t rv,
                                  const ContinueToken& from, std::size_t limit) const;

  Store& store_;
  const base::Clock& clock_;
  ReaderOptions options_;
};

}  // namespace kollect::sandbox
