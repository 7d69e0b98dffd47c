#include "inventory/store/record.h"

#include "base/hash.h"

namespace kollect::inventory {
namespace {

std::uint64_t hash_uuid(const Uuid& uuid) {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::memcpy(&a, uuid.data(), sizeof a);
  std::memcpy(&b, uuid.data() + sizeof a, sizeof b);
  // Not all UUIDs are random (version 1 and those made by hand).
  a = (a ^ std::rotl(b, 32)) * 0x9e3779b97f4a7c15ULL + b;
  a = (a ^ a >> 32U) * 0xd6e8feb86659fd93ULL;
  return a ^ a >> 32U;
}

std::byte* put_text(std::byte* at, std::string_view text) {
  std::size_t size = text.size();
  for (; size >= 0x80; size >>= 7U) *at++ = static_cast<std::byte>(size | 0x80U);
  *at++ = static_cast<std::byte>(size);
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace

UidKey::UidKey(std::string_view uid) {
  if (const auto packed = pack_uuid(uid)) {
    uuid = *packed;
    is_text = false;
    hash = hash_uuid(uuid);
  } else {
    text = uid;
    hash = base::xxh64(uid);
  }
}

std::string_view Record::name() const {
  const char* at = texts();
  return read_text(at);
}

std::string_view Record::uid_text() const {
  const char* at = texts();
  read_text(at);
  return read_text(at);
}

const char* Record::attributes() const {
  const char* at = texts();
  read_text(at);
  if (uid_is_text()) read_text(at);
  return at;
}

bool Record::has_uid(const UidKey& key) const {
  if (uid_is_text() != key.is_text) return false;
  return key.is_text ? uid_text() == key.text : uuid() == key.uuid;
}

std::uint64_t Record::uid_hash() const {
  return uid_is_text() ? base::xxh64(uid_text()) : hash_uuid(uuid());
}

std::size_t Record::size_of(const Fields& fields) {
  std::size_t size = kFixed + bytes_of_size(fields.name.size()) + fields.name.size();
  if (fields.uid->is_text) {
    size += bytes_of_size(fields.uid->text.size()) + fields.uid->text.size();
  }
  return size + (fields.removed ? kRemovedLinks : fields.attributes.size());
}

void Record::write(const Fields& fields, std::byte* bytes) {
  std::memset(bytes, 0, kFixed + (fields.removed ? kRemovedLinks : 0));
  Record record(bytes);
  record.set(13, static_cast<std::uint8_t>((fields.removed ? kRemoved : 0U) |
                                           (fields.uid->is_text ? kTextUid : 0U) |
                                           static_cast<unsigned>(fields.body) << kBodyShift));
  record.set(14, fields.version);
  record.set(22, fields.shape);
  record.set(26, fields.ns);
  record.set(30, fields.uid->uuid);
  std::byte* at = bytes + kFixed + (fields.removed ? kRemovedLinks : 0);
  at = put_text(at, fields.name);
  if (fields.uid->is_text) at = put_text(at, fields.uid->text);
  if (!fields.removed && !fields.attributes.empty()) {
    std::memcpy(at, fields.attributes.data(), fields.attributes.size());
  }
}

}  // namespace kollect::inventory
