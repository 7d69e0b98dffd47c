#include "inventory/store/dictionary.h"

#include <cstring>

#include "base/hash.h"

namespace kollect::inventory {
namespace {

// An entry's head, its place in the vector and in the index, and the allocator's share.
constexpr double kEntryCost = 48;
// What a row holds instead of the text.
constexpr double kUseCost = 3;
// Below this nothing is known yet.
constexpr std::size_t kEnoughTexts = 512;
constexpr std::size_t kEnoughUses = 64;

}  // namespace

double Dictionary::balance(const Counts& counts) {
  if (counts.texts == 0) return 0;
  const auto texts = static_cast<double>(counts.texts);
  const auto uses = static_cast<double>(counts.uses);
  const auto bytes = static_cast<double>(counts.bytes);
  const double with = bytes + texts * kEntryCost + uses * kUseCost;
  const double without = uses * (bytes / texts + 1);
  return with - without;
}

Dictionary::Head& Dictionary::head(std::uint32_t number) const {
  return *reinterpret_cast<Head*>(entries_[number].get());
}

std::string_view Dictionary::text(std::uint32_t number) const {
  const std::byte* entry = entries_[number].get();
  return {reinterpret_cast<const char*>(entry) + sizeof(Head),
          reinterpret_cast<const Head*>(entry)->size};
}

void Dictionary::count(const Head& head, int texts, int uses) {
  const auto apply = [&](Counts& counts) {
    counts.texts += static_cast<std::size_t>(texts);
    counts.bytes += static_cast<std::size_t>(texts) * head.size;
    counts.uses += static_cast<std::size_t>(uses);
  };
  apply(total_);
  if (sampled(head.hash)) apply(sample_);
}

void Dictionary::reconsider(bool new_text) {
  if (all_) {
    if (new_text && total_.texts >= kEnoughTexts && balance(total_) > 0) all_ = false;
  } else if (sample_.uses >= kEnoughUses) {
    // A clear gain is asked for, so that it does not swing to and fro.
    if (balance(sample_) * 4 < -static_cast<double>(sample_.bytes)) all_ = true;
  }
}

std::uint32_t Dictionary::add(std::string_view text, std::uint64_t hash) {
  auto entry = std::make_unique_for_overwrite<std::byte[]>(sizeof(Head) + text.size());
  const Head head{.uses = 1, .size = static_cast<std::uint32_t>(text.size()), .hash = hash};
  std::memcpy(entry.get(), &head, sizeof head);
  if (!text.empty()) std::memcpy(entry.get() + sizeof head, text.data(), text.size());
  std::uint32_t number = 0;
  if (vacant_.empty()) {
    number = entries_.append(std::move(entry));
  } else {
    number = vacant_.back();
    vacant_.pop_back();
    entries_[number] = std::move(entry);
  }
  index_.insert(hash, number, [&](std::uint32_t other) { return this->head(other).hash; });
  count(head, 1, 1);
  return number;
}

std::optional<std::uint32_t> Dictionary::find(std::string_view text, std::uint64_t hash) {
  const std::size_t slot = index_.find(hash, [&](std::uint32_t number) {
    return head(number).hash == hash && this->text(number) == text;
  });
  if (slot == ProbeIndex::kNone) return std::nullopt;
  const std::uint32_t number = index_.number(slot);
  ++head(number).uses;
  count(head(number), 0, 1);
  return number;
}

std::uint32_t Dictionary::take(std::string_view text) {
  const std::uint64_t hash = base::xxh64(text);
  const std::lock_guard lock(mutex_);
  const auto found = find(text, hash);
  return found ? *found : add(text, hash);
}

std::optional<std::uint32_t> Dictionary::offer(std::string_view text) {
  const std::uint64_t hash = base::xxh64(text);
  const std::lock_guard lock(mutex_);
  auto number = find(text, hash);
  const bool known = number.has_value();
  if (!known) {
    if (!all_ && !sampled(hash)) return std::nullopt;
    number = add(text, hash);
  }
  reconsider(!known);
  return number;
}

void Dictionary::retain(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  ++head(number).uses;
  count(head(number), 0, 1);
}

void Dictionary::release(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  Head& found = head(number);
  count(found, 0, -1);
  if (--found.uses != 0) return;
  count(found, -1, 0);
  const std::size_t slot =
      index_.find(found.hash, [&](std::uint32_t other) { return other == number; });
  index_.erase(slot, [&](std::uint32_t other) { return head(other).hash; });
  entries_[number].reset();
  vacant_.push_back(number);
}

std::size_t Dictionary::distinct() const {
  const std::lock_guard lock(mutex_);
  return total_.texts;
}

bool Dictionary::takes_all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::size_t Dictionary::memory_bytes() const {
  constexpr std::size_t kAllocation = 16;
  const std::lock_guard lock(mutex_);
  return total_.bytes + total_.texts * (sizeof(Head) + kAllocation) + index_.memory_bytes() +
         entries_.memory_bytes() + vacant_.capacity() * sizeof(std::uint32_t);
}

}  // namespace kollect::inventory
