// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::test
{

/** Writes numbers in network order, and strings with their length. */
class ZookeeperWriter
{
public:
    ZookeeperWriter& integer(std::int32_t value)
    {
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes_.push_back(static_cast<char>((static_cast<std::uint32_t>(value) >> shift) & 0xffU));
        return *this;
    }
    ZookeeperWriter& wide(std::int64_t value)
    {
        integer(static_cast<std::int32_t>(value >> 32));
        return integer(static_cast<std::int32_t>(value & 0xffffffff));
    }
    ZookeeperWriter& byte(char value)
    {
        bytes_.push_back(value);
        return *this;
    }
    ZookeeperWriter& text(std::string_view value)
    {
        integer(static_cast<std::int32_t>(value.size()));
        bytes_ += value;
        return *this;
    }
    [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

/** Reads them. @throws std::runtime_error if they end too soon */
class ZookeeperReader
{
public:
    explicit ZookeeperReader(std::string_view bytes)
        : bytes_(bytes)
    {
    }
    std::int32_t integer()
    {
        std::uint32_t value = 0;
        for (char const c : take(4))
            value = value << 8U | static_cast<unsigned char>(c);
        return static_cast<std::int32_t>(value);
    }
    std::int64_t wide()
    {
        auto const high = static_cast<std::int64_t>(integer());
        return high << 32 | static_cast<std::uint32_t>(integer());
    }
    char byte() { return take(1).front(); }
    std::string text()
    {
        auto const size = integer();
        return size < 0 ? std::string() : std::string(take(static_cast<std::size_t>(size)));
    }
    [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

private:
    std::string_view take(std::size_t size)
    {
        if (size > bytes_.size())
            throw std::runtime_error("ZooKeeper: a truncated reply");
        auto const taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }
    std::string_view bytes_;
};

/** The operation of a request. */
enum class ZookeeperOperation : std::int32_t {
    end_of_transaction = -1,
    create = 1,
    remove = 2,
    get = 4,
    set = 5,
    children = 8,
    sync = 9,
    check = 13,
    transaction = 14,
    login = 100,
    close = -11
};

// Bodies of requests; a version of -1 is any.
[[nodiscard]] std::string zookeeper_create(std::string const& path, std::string const& data, bool ephemeral);
[[nodiscard]] std::string zookeeper_set(std::string const& path, std::string const& data, std::int32_t version);
[[nodiscard]] std::string zookeeper_remove(std::string const& path, std::int32_t version);
/** Of a node or of its children, without a watch. */
[[nodiscard]] std::string zookeeper_read(std::string const& path);

/** A request as it goes over the wire. */
[[nodiscard]] std::string zookeeper_request(std::int32_t number, ZookeeperOperation operation, std::string const& body);
/** One part of the body of a transaction; the last one is `end_of_transaction`. */
[[nodiscard]] std::string zookeeper_part(ZookeeperOperation operation, std::string const& body = {});

/** The password of a session: servers fill it from a generator of 48 bits (java.util.Random) that
 * they seed with the session's number. */
[[nodiscard]] std::string zookeeper_password(std::int64_t session);

} // namespace tenure::test
