#include "sinks/git/oid.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/hash.h"

namespace kollect::sinks::git {

namespace {

constexpr std::size_t kPiece = 256U << 10U;

std::string_view type_name(ObjectType type) {
  switch (type) {
    case ObjectType::kCommit:
      return "commit";
    case ObjectType::kTree:
      return "tree";
    case ObjectType::kBlob:
      return "blob";
  }
  return "blob";
}

}  // namespace

std::string Oid::hex() const {
  return base::hex_encode(raw());
}

void Pieces::add(std::string_view text) {
  size_ += text.size();
  while (!text.empty()) {
    if (pieces_.empty() || pieces_.back().size() == kPiece) {
      pieces_.emplace_back();
      if (text.size() > kPiece / 4 || pieces_.size() > 1) pieces_.back().reserve(kPiece);
    }
    const auto part = text.substr(0, kPiece - pieces_.back().size());
    pieces_.back() += part;
    text.remove_prefix(part.size());
  }
}

Pieces::Pieces(std::function<void(const Visit& visit)> make) : make_(std::move(make)) {
  make_([this](std::string_view text) { size_ += text.size(); });
}

void Pieces::visit(const Visit& visit) const {
  if (make_) return make_(visit);
  for (const auto& piece : pieces_) visit(piece);
}

std::optional<std::string_view> Pieces::only_piece() const {
  if (make_ || pieces_.size() > 1) return {};
  return pieces_.empty() ? std::string_view() : std::string_view(pieces_.front());
}

Oid hash_object(ObjectType type, const Pieces& content) {
  // Looked up once: that takes longer than a short text.
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> kMethod(
      EVP_MD_fetch(nullptr, "SHA1", nullptr), &EVP_MD_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), kMethod.get(), nullptr);
  auto head = fmt::format("{} {}", type_name(type), content.size());
  EVP_DigestUpdate(hash.get(), head.c_str(), head.size() + 1);  // with its NUL
  content.visit(
      [&](std::string_view piece) { EVP_DigestUpdate(hash.get(), piece.data(), piece.size()); });
  Oid out;
  EVP_DigestFinal_ex(hash.get(), out.bytes.data(), nullptr);
  return out;
}

base::Result<Oid> sha1_of(const Fd& file, std::string_view shown) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  EVP_DigestInit_ex(hash.get(), EVP_sha1(), nullptr);
  std::array<unsigned char, 65536> piece{};
  off_t at = 0;
  while (true) {
    const auto n = ::pread(file.get(), piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", std::string(shown), errno);
    if (n == 0) break;
    EVP_DigestUpdate(hash.get(), piece.data(), static_cast<std::size_t>(n));
    at += n;
  }
  Oid sum;
  EVP_DigestFinal_ex(hash.get(), sum.bytes.data(), nullptr);
  return sum;
}

}  // namespace kollect::sinks::git
