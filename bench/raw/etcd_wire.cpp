// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/etcd_wire.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace bench::raw
{

namespace
{

std::string base64(std::string_view bytes)
{
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        auto const part = bytes.substr(i, 3);
        unsigned bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8U | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            text.push_back(k <= part.size() ? alphabet[bits >> (18 - 6 * k) & 0x3fU] : '=');
    }
    return text;
}

} // namespace

std::string etcd_request(std::string_view path, std::string const& body)
{
    return "POST /v3/" + std::string(path) +
           " HTTP/1.1\r\nHost: bench\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

void EtcdWire::read_some()
{
    std::array<char, 4096> buffer;
    auto const size = socket_.receive(buffer.data(), buffer.size());
    input_.append(buffer.data(), size);
}

bool EtcdWire::receive()
{
    read_some();
    auto const header = input_.find("\r\n\r\n");
    if (header == std::string::npos)
        return false;
    constexpr std::string_view field = "Content-Length: ";
    auto const length = input_.find(field);
    if (!input_.starts_with("HTTP/1.1 200") || length > header)
        throw std::runtime_error("etcd: " + input_);
    return input_.size() >= header + 4 + std::stoul(input_.substr(length + field.size(), 10));
}

std::string EtcdWire::take()
{
    return std::exchange(input_, {});
}

std::string EtcdWire::ask(std::string_view text)
{
    send(text);
    while (!receive()) {
    }
    return take();
}

void EtcdWire::skip_past(std::string_view text)
{
    for (;;) {
        if (auto const found = input_.find(text); found != std::string::npos) {
            input_.erase(0, found + text.size());
            return;
        }
        read_some();
    }
}

EtcdPair::EtcdPair(std::string_view name, std::string const& lease)
    : key(base64(name))
{
    auto const value = base64("raw/0123456789abcdef0123456789abcdef");
    claim = etcd_request(
        "kv/txn", R"({"compare":[{"key":")" + key + R"(","target":"CREATE","create_revision":"0"}],)" +
                      R"("success":[{"request_put":{"key":")" + key + R"(","value":")" + value + R"(","lease":")" +
                      lease + R"("}}],"failure":[{"request_range":{"key":")" + key + R"("}}]})");
    release = etcd_request(
        "kv/txn", R"({"compare":[{"key":")" + key + R"(","target":"VALUE","value":")" + value +
                      R"("}],"success":[{"request_delete_range":{"key":")" + key + R"("}}]})");
}

std::string etcd_lease(EtcdWire& wire)
{
    auto const reply = wire.ask(etcd_request("lease/grant", R"({"TTL":"600"})"));
    auto const at = reply.find(R"("ID":")") + 6;
    return reply.substr(at, reply.find('"', at) - at);
}

bool etcd_succeeded(std::string_view reply)
{
    return reply.find("\"succeeded\":true") != std::string_view::npos;
}

} // namespace bench::raw
