// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// JSON library of the messages: Boost.JSON in a separate namespace, boost::tenure_json. Its sources are compiled into
// the library (json_source.cpp). As boost::json they would collide with those of a program that also compiles them: the
// linker would refuse both, or silently mix two versions or configurations.
#pragma once

#ifdef BOOST_JSON_DETAIL_CONFIG_HPP
#error "include etcd/json.hpp in place of Boost.JSON's own headers: this file has them already, as boost::json"
#endif

#define json tenure_json
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#ifdef TENURE_JSON_SOURCE
#include <boost/json/src.hpp>
#endif
#undef json

namespace tenure::etcd
{

namespace json = boost::tenure_json;

} // namespace tenure::etcd
