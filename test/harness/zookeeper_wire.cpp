// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_wire.hpp"

namespace tenure::test
{

std::string zookeeper_create(std::string const& path, std::string const& data, bool ephemeral)
{
    constexpr std::int32_t all_rights = 31;
    ZookeeperWriter body;
    body.text(path).text(data).integer(1).integer(all_rights).text("world").text("anyone").integer(ephemeral ? 1 : 0);
    return body.bytes();
}

std::string zookeeper_set(std::string const& path, std::string const& data, std::int32_t version)
{
    return ZookeeperWriter().text(path).text(data).integer(version).bytes();
}

std::string zookeeper_remove(std::string const& path, std::int32_t version)
{
    return ZookeeperWriter().text(path).integer(version).bytes();
}

std::string zookeeper_read(std::string const& path)
{
    return ZookeeperWriter().text(path).byte(0).bytes();
}

std::string zookeeper_request(std::int32_t number, ZookeeperOperation operation, std::string const& body)
{
    auto const head = ZookeeperWriter().integer(number).integer(static_cast<std::int32_t>(operation)).bytes();
    return ZookeeperWriter().text(head + body).bytes();
}

std::string zookeeper_part(ZookeeperOperation operation, std::string const& body)
{
    constexpr std::int32_t no_error_yet = -1;
    char const last = operation == ZookeeperOperation::end_of_transaction ? 1 : 0;
    return ZookeeperWriter().integer(static_cast<std::int32_t>(operation)).byte(last).integer(no_error_yet).bytes() +
           body;
}

std::string zookeeper_password(std::int64_t session)
{
    constexpr std::uint64_t mask = (std::uint64_t{1} << 48U) - 1;
    constexpr std::uint64_t factor = 0x5deece66dU;
    constexpr std::uint64_t mixed_in = 0xb3415c00U;
    auto state = (static_cast<std::uint64_t>(session) ^ mixed_in ^ factor) & mask;
    std::string password;
    while (password.size() < 16) {
        state = (state * factor + 0xb) & mask;
        auto const word = state >> 16U;
        for (unsigned shift = 0; shift < 32; shift += 8)
            password.push_back(static_cast<char>(word >> shift & 0xffU));
    }
    return password;
}

} // namespace tenure::test
