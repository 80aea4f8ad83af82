// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/postgresql_server.hpp"

#include "store/postgresql/backend.hpp"

#include <tenure/conformance/client.hpp>
#include <tenure/conformance/expect.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tenure::test
{

// the words of the seam and of the conformance suite, for all tests of this store
using namespace backend;
using namespace conformance;
using namespace std::chrono_literals;

/** A server with the schema, and a person there. */
struct Database : PostgresqlTest {
    PostgresqlPerson person{server.port()};
    conformance::Client client{connect(server.port())};

    Database() { conformance::expect<backend::Ready>(client.ready()); }

    [[nodiscard]] static PostgresqlConfig config(std::uint16_t port)
    {
        PostgresqlConfig config;
        config.endpoints = {{"127.0.0.1", port}};
        config.database = config.username = "postgres";
        config.create = true;
        return config;
    }
    [[nodiscard]] static conformance::Client::MakeBackend connect(PostgresqlConfig config)
    {
        return [config = std::move(config)](std::shared_ptr<backend::Runtime> runtime) {
            return postgresql::make_backend(std::move(runtime), config);
        };
    }
    [[nodiscard]] static conformance::Client::MakeBackend connect(std::uint16_t port) { return connect(config(port)); }

    [[nodiscard]] backend::ClaimRequest request(KeyRangePtr range, unsigned number) const
    {
        backend::ClaimRequest request;
        request.range = std::move(range);
        request.owner = conformance::owner(number);
        request.ttl = 20s;
        request.not_after = client.now() + 10s;
        return request;
    }
    [[nodiscard]] backend::ClaimPtr take(KeyRangePtr const& range, unsigned number)
    {
        auto const granted = conformance::expect<backend::Granted>(client.claim(request(range, number)));
        return conformance::claim_of(range, conformance::owner(number), granted);
    }
    /** The owner of a taken key. */
    [[nodiscard]] std::string owner_of(std::string const& key)
    {
        return person.word("SELECT owner FROM tenure.lease WHERE key = $1 AND until > clock_timestamp()", {key});
    }
};

} // namespace tenure::test
